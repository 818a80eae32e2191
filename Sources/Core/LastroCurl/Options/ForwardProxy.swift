// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroHTTP

/// A proxy that receives plain `http` requests with their whole URLs (RFC 9112 §3.2.2), so that requests for many hosts
/// share its connections. All other traffic through a proxy uses a tunnel or SOCKS, which libcurl opens.
struct ForwardProxy {
  let url: String
  /// The value of `Proxy-Authorization`, if the URL has user and password.
  let authorization: String?

  /// Creates a proxy; `nil` if it does not forward requests for the host.
  ///
  /// - Parameter url: a URL from ``ProxyResolver``.
  init?(_ url: String, for host: HostKey) {
    guard !host.isTLS, Self.isForwarding(url) else { return nil }
    self.url = url
    authorization = Self.userInformation(of: url).map { "Basic " + Data($0).base64EncodedString() }
  }

  /// Returns whether plain `http` requests are sent to a proxy with their whole URLs.
  static func isForwarding(_ url: String) -> Bool { !url.isEmpty && !url.lowercased().hasPrefix("socks") }

  var isTLS: Bool { url.lowercased().hasPrefix("https:") }

  /// The proxy's origin, without user and password.
  var origin: Origin? { try? Origin("\(isTLS ? "https" : "http")://\(Self.name(of: url))") }

  /// Returns the host and port in a proxy's URL, without user and password.
  static func name(of url: String) -> String {
    let authority = authority(of: url)
    return String(authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority)
  }

  private static func authority(of url: String) -> Substring {
    let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
    return rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
  }

  private static func userInformation(of url: String) -> [UInt8]? {
    let authority = authority(of: url)
    guard let at = authority.lastIndex(of: "@") else { return nil }
    let parts = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let password = parts.count > 1 ? decoded(parts[1]) : []
    return decoded(parts[0]) + Array(":".utf8) + password
  }

  private static func decoded(_ text: Substring) -> [UInt8] { text.percentDecodedBytes ?? Array(text.utf8) }
}
