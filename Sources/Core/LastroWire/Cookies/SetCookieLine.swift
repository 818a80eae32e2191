// SPDX-License-Identifier: Apache-2.0

/// The content of one `Set-Cookie` field (draft-ietf-httpbis-rfc6265bis §5.6), before any rules of a cookie jar.
///
/// Lines are never joined or split at commas, because dates contain commas.
package struct SetCookieLine: Sendable, Equatable {
  /// The maximum size of name and value together in bytes.
  package static let maximumBytes = 4096
  /// The maximum size of an attribute's value in bytes. An attribute with a longer value is ignored.
  package static let maximumAttributeBytes = 1024

  /// The reason why a line sets no cookie.
  package enum Problem: Error, Sendable, Equatable {
    /// The line has a control character other than a tab.
    case controlCharacter
    /// The line is not UTF-8.
    case notUTF8
    /// The line has neither a name nor a value.
    case empty
    /// Name and value exceed ``SetCookieLine/maximumBytes``.
    case tooLong
  }

  /// The value of `SameSite`; `unspecified` if it is absent or unknown.
  package enum SameSite: Sendable, Hashable { case unspecified, strict, lax, none }

  /// The name; empty if the line has no `=`.
  package var name: String
  /// The value, including quotes.
  package var value: String
  /// The value of `Expires`, in seconds since 1970.
  package var expires: Int64?
  /// The value of `Max-Age` in seconds; 0 if it is not positive.
  package var maximumAge: Int64?
  /// The value of `Domain` without a leading dot; `nil` if it is absent or empty.
  package var domain: String?
  /// The value of `Path`; `nil` if it is absent or does not begin with a slash.
  package var path: String?
  /// Whether the line has `Secure`.
  package var isSecure = false
  /// Whether the line has `HttpOnly`.
  package var isHTTPOnly = false
  /// The value of `SameSite`.
  package var sameSite = SameSite.unspecified

  /// Parses a field's value.
  package init(_ line: some Collection<UInt8>) throws(Problem) {
    let bytes = Array(line)
    guard bytes.allSatisfy(FieldSyntax.isValue) else { throw .controlCharacter }
    let parts = bytes.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
    let pair = Self.pair(parts[0], nameless: true)
    guard pair.name.count + pair.value.count <= Self.maximumBytes else { throw .tooLong }
    guard !pair.name.isEmpty || !pair.value.isEmpty else { throw .empty }
    guard let name = String(validating: pair.name, as: UTF8.self),
      let value = String(validating: pair.value, as: UTF8.self)
    else { throw .notUTF8 }
    self.name = name
    self.value = value
    for part in parts.dropFirst() {
      let attribute = Self.pair(part, nameless: false)
      // No known attribute has a longer name.
      if attribute.value.count <= Self.maximumAttributeBytes, attribute.name.count <= 8 { apply(attribute) }
    }
  }

  private typealias Pair = (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)

  /// Splits at the first `=`. Without one, the whole text is the value of a cookie, or the name of an attribute.
  private static func pair(_ text: ArraySlice<UInt8>, nameless: Bool) -> Pair {
    guard let mark = text.firstIndex(of: UInt8(ascii: "=")) else {
      return nameless ? ([], text.withoutSpaces) : (text.withoutSpaces, [])
    }
    return (text[..<mark].withoutSpaces, text[text.index(after: mark)...].withoutSpaces)
  }

  /// Applies an attribute. A later one replaces an earlier one of the same name.
  private mutating func apply(_ attribute: Pair) {
    let value = attribute.value
    switch String(decoding: attribute.name, as: UTF8.self) {
    case let name where name.isASCII("expires"): if let date = CookieDate.seconds(value) { expires = date }
    case let name where name.isASCII("max-age"): if let age = Self.age(value) { maximumAge = age }
    case let name where name.isASCII("domain"): applyDomain(value)
    case let name where name.isASCII("path"):
      path = value.first == UInt8(ascii: "/") ? String(validating: value, as: UTF8.self) : nil
    case let name where name.isASCII("secure"): isSecure = true
    case let name where name.isASCII("httponly"): isHTTPOnly = true
    case let name where name.isASCII("samesite"): applySameSite(String(decoding: value, as: UTF8.self))
    default: break
    }
  }

  private mutating func applyDomain(_ value: ArraySlice<UInt8>) {
    let name = value.first == UInt8(ascii: ".") ? value.dropFirst() : value
    domain = name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
  }

  private mutating func applySameSite(_ value: String) {
    switch value {
    case let value where value.isASCII("strict"): sameSite = .strict
    case let value where value.isASCII("lax"): sameSite = .lax
    case let value where value.isASCII("none"): sameSite = .none
    default: sameSite = .unspecified
    }
  }

  /// Parses digits with an optional `-`, of any length. The largest number exceeds the lifetime of cookies in any jar.
  private static func age(_ value: ArraySlice<UInt8>) -> Int64? {
    let isNegative = value.first == UInt8(ascii: "-")
    return Int64(clampingDigits: isNegative ? value.dropFirst() : value).map { isNegative ? 0 : $0 }
  }
}
