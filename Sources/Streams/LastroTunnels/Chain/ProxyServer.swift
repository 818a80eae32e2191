// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// A proxy: its address, and the user and password for it.
///
/// Its description contains no password.
package struct ProxyServer: Sendable, Hashable, CustomStringConvertible {
  /// The user and password for a proxy.
  package struct Credentials: Sendable, Hashable {
    /// The user; may appear in logs.
    package var user: String
    /// The password.
    package var password: Secret

    /// Creates credentials.
    package init(user: String, password: Secret) {
      self.user = user
      self.password = password
    }
  }

  /// The host name or IP address in its canonical form; IPv6 without brackets.
  package let host: String
  /// The port, 1 to 65,535.
  package let port: Int
  /// The user and password for the proxy. Default `nil`: it requires none.
  package let credentials: Credentials?

  /// Creates a proxy.
  ///
  /// - Parameters:
  ///   - host: the host name or IP address.
  ///   - port: the port.
  ///   - credentials: the user and password for it. Default: none.
  ///   - name: the name of the server in errors.
  /// - Throws: `ConfigurationError` if the host is invalid, or if the port is not 1 to 65,535.
  package init(
    host: String, port: Int, credentials: Credentials? = nil, called name: String = "the proxy"
  ) throws(ConfigurationError) {
    do throws(TransportError) {
      self.host = try NestedTarget(host: host, port: port).hostText
    } catch {
      throw ConfigurationError("\(name)'s address is not valid: \(error.message)", hint: error.hint)
    }
    self.port = port
    self.credentials = credentials
  }

  /// The proxy in the form `user@proxy.example:1080`, without the password.
  package var description: String {
    credentials.map { "\($0.user)@\(address)" } ?? address
  }

  /// Returns the request that dials the proxy on the way to another host.
  ///
  /// The client's certificate and a Unix socket are meant for the server, so neither is used for the proxy. The dialer
  /// itself withholds its default certificate, based on the role.
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
