// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A proxy: where it listens, and the user and password for it.
///
/// Its description shows no password.
public struct ProxyServer: Sendable, Hashable, CustomStringConvertible {
  /// User and password for a proxy.
  public struct Credentials: Sendable, Hashable {
    /// The user; may be seen in logs.
    public var user: String
    /// The password.
    public var password: Secret

    /// Makes credentials.
    public init(user: String, password: Secret) {
      self.user = user
      self.password = password
    }
  }

  /// Name or address, in its canonical form; IPv6 without brackets.
  public let host: String
  /// Port, 1 to 65,535.
  public let port: Int
  /// User and password for the proxy. Default `nil`: it asks for none.
  public let credentials: Credentials?

  /// Makes one; `credentials` are `nil` by default.
  ///
  /// - Throws: `ConfigurationError` when the host is invalid, or the port is not 1 to 65,535.
  public init(host: String, port: Int, credentials: Credentials? = nil) throws(ConfigurationError) {
    do throws(TransportError) {
      self.host = try NestedTarget(host: host, port: port).hostText
    } catch {
      throw ConfigurationError("the proxy's address is not valid: \(error.message)", hint: error.hint)
    }
    self.port = port
    self.credentials = credentials
  }

  /// Such as `user@proxy.example:1080`; the password is never in it.
  public var description: String {
    credentials.map { "\($0.user)@\(address)" } ?? address
  }

  /// The request that dials it on the way to another host.
  ///
  /// The client's certificate is for the server, and so is a Unix socket in its place: neither is for a proxy. What a
  /// dialer has by default it keeps back itself, by the role.
  func request(
    for request: DialRequest, tls: DialRequest.TLS? = nil, within limit: Duration?
  ) throws(TransportError) -> DialRequest {
    guard request.connection?.unixSocketPath == nil else {
      throw .refused(
        .invalidOption, "a Unix socket cannot be reached through the proxy \(host)",
        hint: "leave unixSocketPath out, or dial without the proxy")
    }
    var connection = request.connection
    connection?.tls.identity = nil
    return DialRequest(
      host: host, port: port, tls: tls, role: .proxy, connection: connection, connectTimeout: limit)
  }
}
