// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Scheme, host and port: the server that a request goes to, and that credentials are for (RFC 6454 §4).
public struct Origin: Sendable, Hashable, CustomStringConvertible {
  /// `http` or `https`.
  public let scheme: String
  /// Host in lower case; an IPv6 address stands in brackets.
  public let host: String
  /// The effective port: the scheme's default where none is written.
  public let port: Int

  /// Reads an absolute `http` or `https` URL; path, query and fragment are ignored.
  ///
  /// ```swift
  /// let origin = try Origin("https://api.example.com")
  /// ```
  ///
  /// - Throws: ``ConfigurationError``, which says why not: another scheme, user information, a missing or malformed
  ///   host, a port outside 1…65535.
  public init(_ url: String) throws(ConfigurationError) {
    do throws(TransportError) {
      let target = try RequestTarget(url)
      self.init(scheme: target.scheme, try Authority(target.authority[...]))
    } catch {
      throw ConfigurationError("cannot read an origin: \(error.message)", hint: error.hint)
    }
  }

  /// The origin of a request; `nil` where it has no `http` or `https` URL.
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

  /// `scheme://host`, with the port where it is not the scheme's default.
  public var description: String {
    "\(scheme)://\(host)" + (port == Self.defaultPort(of: scheme) ? "" : ":\(port)")
  }
}
