// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Scheme, host and port: who a request goes to, and whom credentials are for (RFC 6454 §4).
public struct Origin: Sendable, Hashable, CustomStringConvertible {
  /// `http` or `https`.
  public let scheme: String
  /// Host in lower case; an IPv6 address stands in brackets.
  public let host: String
  /// The effective port: the scheme's default where none is written.
  public let port: Int

  /// Reads an absolute `http` or `https` URL; path, query and fragment are ignored.
  ///
  /// - Returns: `nil` for another scheme, user info, a missing or malformed host, or a port out of range.
  public init?(_ url: String) {
    guard let parts = URLParts(absolute: url) else { return nil }
    self = parts.origin
  }

  /// The origin of a request; `nil` as for ``init(_:)``.
  public init?(_ request: HTTPRequest) {
    guard let scheme = request.scheme, let authority = request.authority,
      let origin = URLParts.origin(scheme: scheme, authority: authority)
    else { return nil }
    self = origin
  }

  init(scheme: String, host: String, port: Int) {
    self.scheme = scheme
    self.host = host
    self.port = port
  }

  /// The port that the scheme implies.
  static func defaultPort(of scheme: String) -> Int { scheme == "https" ? 443 : 80 }

  /// Host, and the port where it is not the scheme's default.
  var authority: String { port == Self.defaultPort(of: scheme) ? host : "\(host):\(port)" }

  /// `scheme://host`, with the port where it is not the scheme's default.
  public var description: String { "\(scheme)://\(authority)" }
}
