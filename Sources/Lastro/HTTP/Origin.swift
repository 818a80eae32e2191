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
    guard let target = try? RequestTarget(url), let authority = try? Authority(target.authority[...]) else {
      return nil
    }
    self.init(scheme: target.scheme, authority)
  }

  /// The origin of a request; `nil` as for ``init(_:)-(String)``.
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
