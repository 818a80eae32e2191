// SPDX-License-Identifier: Apache-2.0

/// What one `Set-Cookie` field says (draft-ietf-httpbis-rfc6265bis §5.6), before any rule of a jar.
///
/// Lines are never joined or split at commas, which stand in dates.
package struct SetCookieLine: Sendable, Equatable {
  /// Most bytes of name and value together.
  package static let maximumBytes = 4096
  /// Most bytes of an attribute's value; a longer one is ignored with its attribute.
  package static let maximumAttributeBytes = 1024

  /// Why a line sets nothing.
  package enum Problem: Error, Sendable, Equatable {
    /// It has a control character other than a tab.
    case controlCharacter
    /// It is not UTF-8.
    case notUTF8
    /// Neither name nor value.
    case empty
    /// More than ``SetCookieLine/maximumBytes``.
    case tooLong
  }

  /// What `SameSite` says; `unspecified` where it is absent or says something else.
  package enum SameSite: Sendable, Equatable { case unspecified, strict, lax, none }

  /// Empty where the line has no `=`.
  package var name: String
  /// With its quotes, where it has any.
  package var value: String
  /// `Expires`, in seconds since 1970.
  package var expires: Int64?
  /// `Max-Age`, in seconds; 0 for what is not positive.
  package var maximumAge: Int64?
  /// `Domain`, without one dot in front; `nil` where it is absent or empty.
  package var domain: String?
  /// `Path`; `nil` where it is absent or does not begin with a slash.
  package var path: String?
  /// Whether `Secure` stands there.
  package var isSecure = false
  /// Whether `HttpOnly` stands there.
  package var isHTTPOnly = false
  /// `SameSite`.
  package var sameSite = SameSite.unspecified

  /// Reads a field's value.
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
      // A name of a thousand bytes is of no attribute.
      if attribute.value.count <= Self.maximumAttributeBytes, attribute.name.count <= 8 { take(attribute) }
    }
  }

  private typealias Pair = (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)

  /// Split at the first `=`. Without one all of it is the value of a cookie, or the name of an attribute.
  private static func pair(_ text: ArraySlice<UInt8>, nameless: Bool) -> Pair {
    guard let mark = text.firstIndex(of: UInt8(ascii: "=")) else {
      return nameless ? ([], text.withoutSpaces) : (text.withoutSpaces, [])
    }
    return (text[..<mark].withoutSpaces, text[text.index(after: mark)...].withoutSpaces)
  }

  /// The last attribute of a name counts.
  private mutating func take(_ attribute: Pair) {
    let value = attribute.value
    switch String(decoding: attribute.name, as: UTF8.self) {
    case let name where name.isASCII("expires"): if let date = CookieDate.seconds(value) { expires = date }
    case let name where name.isASCII("max-age"): if let age = Self.age(value) { maximumAge = age }
    case let name where name.isASCII("domain"): takeDomain(value)
    case let name where name.isASCII("path"):
      path = value.first == UInt8(ascii: "/") ? String(validating: value, as: UTF8.self) : nil
    case let name where name.isASCII("secure"): isSecure = true
    case let name where name.isASCII("httponly"): isHTTPOnly = true
    case let name where name.isASCII("samesite"): takeSameSite(String(decoding: value, as: UTF8.self))
    default: break
    }
  }

  private mutating func takeDomain(_ value: ArraySlice<UInt8>) {
    let name = value.first == UInt8(ascii: ".") ? value.dropFirst() : value
    domain = name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
  }

  private mutating func takeSameSite(_ value: String) {
    switch value {
    case let value where value.isASCII("strict"): sameSite = .strict
    case let value where value.isASCII("lax"): sameSite = .lax
    case let value where value.isASCII("none"): sameSite = .none
    default: sameSite = .unspecified
    }
  }

  /// `-` and digits, or digits; as many as there are.
  private static func age(_ value: ArraySlice<UInt8>) -> Int64? {
    let isNegative = value.first == UInt8(ascii: "-")
    let digits = isNegative ? value.dropFirst() : value
    guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    if isNegative { return 0 }
    // Longer than any jar keeps a cookie.
    return Int64(String(decoding: digits, as: UTF8.self)) ?? .max
  }
}
