// SPDX-License-Identifier: Apache-2.0

/// Why a jar does not take a cookie.
///
/// The sections are of draft-ietf-httpbis-rfc6265bis.
public enum CookieRefusal: String, Sendable, Hashable, CaseIterable, Error {
  /// A control character other than a tab (§5.6).
  case controlCharacter = "control_character"
  /// Not UTF-8, which a jar would have to change.
  case notUTF8 = "not_utf8"
  /// Neither name nor value (§5.6).
  case empty
  /// A value without a name, where ``CookieRules/acceptsNameless`` is false.
  case nameless
  /// Name and value have more than 4096 bytes (§5.6).
  case tooLong = "too_long"
  /// A semicolon, or an `=` in the name: it would be read as another cookie.
  case separator
  /// A domain that no host has (§5.7).
  case invalidDomain = "invalid_domain"
  /// A domain under which anyone can register a name, such as `co.uk` (§5.7).
  case publicSuffix = "public_suffix"
  /// A domain that the server is not in (§5.7).
  case foreignDomain = "foreign_domain"
  /// A path that does not begin with a slash.
  case invalidPath = "invalid_path"
  /// `Secure` from a server that was not asked over `https` (§5.7).
  case secureInTheClear = "secure_in_the_clear"
  /// It would hide a `Secure` cookie, and came over plain `http` (§5.7).
  case overSecure = "over_secure"
  /// `SameSite=None` without `Secure` (§5.7).
  case sameSiteNone = "same_site_none"
  /// Its name begins with a prefix whose promise it does not keep (§5.7).
  case prefix

  /// What is wrong, to be read behind the cookie's name.
  public var reason: String {
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
    case .prefix: "does not keep what the prefix of its name promises"
    }
  }

  /// How to fix a cookie of one's own.
  var hint: String {
    switch self {
    case .controlCharacter, .separator: "percent-encode it"
    case .notUTF8: "encode it in base64"
    case .empty, .nameless: "give it a name; CookieRules.acceptsNameless takes cookies without one"
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
