// SPDX-License-Identifier: Apache-2.0

/// A name prefix of a cookie, which promises certain attributes. It is matched in any case
/// (draft-ietf-httpbis-rfc6265bis §4.1.3; the two prefixes with `Http` are from draft-ietf-httpbis-layered-cookies).
package enum CookiePrefix: Sendable, CaseIterable {
  case secure, host, http, hostHTTP

  /// The prefix as written.
  package var text: StaticString {
    switch self {
    case .secure: "__Secure-"
    case .host: "__Host-"
    case .http: "__Http-"
    case .hostHTTP: "__Host-Http-"
    }
  }

  /// Finds the longest prefix of a name, or of a nameless cookie's value.
  package init?(_ name: String) {
    // `__Host-Http-` also begins with `__Host-`.
    let candidates: [CookiePrefix] = [.hostHTTP, .host, .secure, .http]
    guard let prefix = candidates.first(where: { $0.begins(name) }) else { return nil }
    self = prefix
  }

  private func begins(_ name: String) -> Bool {
    let start = name.utf8.prefix(text.utf8CodeUnitCount)
    return text.withUTF8Buffer { prefix in
      start.count == prefix.count && zip(start, prefix).allSatisfy { Self.lower($0) == Self.lower($1) }
    }
  }

  private static func lower(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }

  /// Returns whether a cookie has the attributes that its prefix promises.
  ///
  /// - Parameter isForWholeHost: whether the cookie applies to a single host and all its paths.
  package func holds(isSecure: Bool, isHTTPOnly: Bool, isForWholeHost: Bool) -> Bool {
    switch self {
    case .secure: isSecure
    case .host: isSecure && isForWholeHost
    case .http: isSecure && isHTTPOnly
    case .hostHTTP: isSecure && isHTTPOnly && isForWholeHost
    }
  }
}
