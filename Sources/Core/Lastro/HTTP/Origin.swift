// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A scheme, host and port. They identify the server that a request is sent to, and that credentials belong to (RFC
/// 6454 §4).
public struct Origin: Sendable, Hashable, CustomStringConvertible {
  /// The scheme: `http` or `https`.
  public let scheme: String
  /// The host in lower case, with an IPv6 address in brackets.
  public let host: String
  /// The effective port: the scheme's default, if the URL has none.
  public let port: Int

  /// Makes the origin of an absolute `http` or `https` URL. Path, query and fragment are ignored.
  ///
  /// ```swift
  /// let origin = try Origin("https://api.example.com")
  /// ```
  ///
  /// - Throws: ``ConfigurationError``, with the reason: another scheme, user information, a missing or malformed host,
  ///   or a port outside 1…65535.
  public init(_ url: String) throws(ConfigurationError) {
    do throws(TransportError) {
      let target = try RequestTarget(url)
      self.init(scheme: target.scheme, try Authority(target.authority[...]))
    } catch {
      throw ConfigurationError("cannot read an origin: \(error.message)", hint: error.hint)
    }
  }

  /// Makes the origin of a request; `nil` if the request has no `http` or `https` URL.
  public init?(_ request: HTTPRequest) {
    guard let scheme = request.scheme?.lowercased(), scheme == "https" || scheme == "http",
      let text = request.authority, let authority = try? Authority(text[...])
    else { return nil }
    self.init(scheme: scheme, authority)
  }

  private init(scheme: String, _ authority: Authority) {
    self.scheme = scheme
    host = authority.host
    port = authority.port ?? Self.defaultPort(of: scheme)
  }

  private static func defaultPort(of scheme: String) -> Int { scheme == "https" ? 443 : 80 }

  /// The origin as `scheme://host`, with the port if it is not the scheme's default.
  public var description: String {
    "\(scheme)://\(host)" + (port == Self.defaultPort(of: scheme) ? "" : ":\(port)")
  }
}
