// SPDX-License-Identifier: Apache-2.0

/// The reason for which a jar refuses a cookie.
///
/// Sections refer to draft-ietf-httpbis-rfc6265bis.
package enum CookieRefusal: String, Sendable, Hashable, CaseIterable, Error {
  /// The cookie has a control character other than a tab (§5.6).
  case controlCharacter = "control_character"
  /// The cookie is not UTF-8, so that a jar would have to change it.
  case notUTF8 = "not_utf8"
  /// The cookie has neither a name nor a value (§5.6).
  case empty
  /// The cookie has a value without a name, and the jar does not accept such cookies.
  case nameless
  /// The name and the value together have more than 4096 bytes (§5.6).
  case tooLong = "too_long"
  /// The cookie contains a semicolon, or its name an `=`: it would be read as another cookie.
  case separator
  /// The domain cannot be that of a host (§5.7).
  case invalidDomain = "invalid_domain"
  /// The domain is a public suffix, such as `co.uk`, under which anyone can register a name (§5.7).
  case publicSuffix = "public_suffix"
  /// The domain does not include the server (§5.7).
  case foreignDomain = "foreign_domain"
  /// The path does not begin with a slash.
  case invalidPath = "invalid_path"
  /// The cookie is `Secure`, but was not received over `https` (§5.7).
  case secureInTheClear = "secure_in_the_clear"
  /// The cookie would hide a `Secure` cookie, and was received over plain `http` (§5.7).
  case overSecure = "over_secure"
  /// The cookie has `SameSite=None` without `Secure` (§5.7).
  case sameSiteNone = "same_site_none"
  /// The name has a prefix whose requirements the cookie does not meet (§5.7).
  case prefix

  /// A phrase for the reason, to be read after the cookie's name.
  package var reason: String {
    switch self {
    case .controlCharacter: "has a control character"
    case .notUTF8: "is not UTF-8"
    case .empty: "has neither name nor value"
    case .nameless: "has a value and no name"
    case .tooLong: "has more than 4096 bytes"
    case .separator: "has a separator in its name or value"
    case .invalidDomain: "has a domain that cannot be a host"
    case .publicSuffix: "is for a public suffix, where anyone can register a name"
    case .foreignDomain: "is for a domain that the server is not in"
    case .invalidPath: "has a path that does not begin with a slash"
    case .secureInTheClear: "is Secure, and came over plain http"
    case .overSecure: "would hide a Secure cookie, and came over plain http"
    case .sameSiteNone: "has SameSite=None and is not Secure"
    case .prefix: "does not meet the requirements of its name's prefix"
    }
  }

  /// A suggestion for fixing a cookie of the application's own.
  var hint: String {
    switch self {
    case .controlCharacter, .separator: "percent-encode it"
    case .notUTF8: "encode it in base64"
    case .empty, .nameless: "give it a name; CookieJar(acceptsNameless: true) takes cookies without one"
    case .tooLong: "keep the data on the server, and a key to it in the cookie"
    case .invalidDomain: "give a host, such as api.example.org, without a dot in front"
    case .publicSuffix, .foreignDomain: "give the host itself, or the registered name above it"
    case .invalidPath: "write /"
    case .secureInTheClear, .overSecure: "set it over https"
    case .sameSiteNone: "make it Secure"
    case .prefix: "make it Secure, and for __Host- also host-only with the path /"
    }
  }
}
