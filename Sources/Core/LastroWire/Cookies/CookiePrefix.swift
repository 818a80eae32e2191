// SPDX-License-Identifier: Apache-2.0

/// A name prefix of a cookie, which promises certain attributes. It is matched in any case
/// (draft-ietf-httpbis-rfc6265bis §4.1.3; the two prefixes with `Http` are from draft-ietf-httpbis-layered-cookies).
package enum CookiePrefix: Sendable, CaseIterable {
  case secure, host, http, hostHTTP

  /// The prefix as written.
  package var text: String {
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

  /// Compares bytes, because a mark after the hyphen would be one `Character` with it.
  private func begins(_ name: String) -> Bool { name.lowercased().utf8.starts(with: text.lowercased().utf8) }

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
