// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Header fields as the caller wrote them: ordered, unchecked, and with repeated names allowed.
///
/// `HTTPField` silently replaces CR, LF and NUL by spaces. This type keeps the strings unchanged until a
/// request is made, which rejects those that RFC 9110 §5.5 forbids. An injected header field is thus an error.
///
/// ```swift
/// let headers: RawHeaders = [.accept: "application/json", "X-Trace": id]
/// ```
public struct RawHeaders: Sendable, Hashable, ExpressibleByDictionaryLiteral, CustomStringConvertible {
  /// A field name: a string literal, or one of the predefined names.
  public struct Name: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The name as it was written, with its case.
    package let rawName: String
    /// Makes a name from a string, unchecked.
    public init(_ name: String) { rawName = name }
    /// Makes a name from one that is known to be valid.
    package init(_ name: HTTPField.Name) { rawName = name.rawName }
    /// Makes a name from a literal, unchecked.
    public init(stringLiteral name: String) { rawName = name }
  }

  /// A field as it was written.
  public struct Field: Sendable, Hashable {
    /// The name of the field as it was written.
    public var name: String
    /// The value of the field as it was written.
    public var value: String
  }

  /// The fields, in order.
  public private(set) var fields: [Field] = []

  /// Makes an empty list.
  package init() {}

  /// Makes a list from names and values, in order.
  public init(_ fields: some Sequence<(String, String)>) {
    self.fields = fields.map { Field(name: $0.0, value: $0.1) }
  }

  /// Makes a list from a dictionary, in the order of the names.
  public init(_ fields: [String: String]) { self.init(fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }) }

  /// Makes a list from checked fields.
  public init(_ fields: HTTPFields) {
    self.fields = fields.map { Field(name: $0.name.rawName, value: $0.value) }
  }

  /// Makes a list from a literal, in which a name may occur more than once.
  public init(dictionaryLiteral elements: (Name, String)...) {
    fields = elements.map { Field(name: $0.rawName, value: $1) }
  }

  /// Appends a field.
  public mutating func append(_ name: Name, _ value: String) {
    fields.append(Field(name: name.rawName, value: value))
  }

  /// The first value of a name, compared without regard to case. Setting a value replaces all values of the name;
  /// setting `nil` removes them.
  public subscript(name: Name) -> String? {
    get { fields.first { $0.name.isSameFieldName(as: name.rawName) }?.value }
    set {
      let first = fields.firstIndex { $0.name.isSameFieldName(as: name.rawName) } ?? fields.endIndex
      fields.removeAll { $0.name.isSameFieldName(as: name.rawName) }
      if let newValue { fields.insert(Field(name: name.rawName, value: newValue), at: min(first, fields.count)) }
    }
  }

  /// Returns the fields, checked for use in a request.
  ///
  /// - Throws: stage `request`, code `invalid_header`, if a name is not a token (RFC 9110 §5.6.2), a value contains a
  ///   control character (RFC 9110 §5.5), or there are more than 999 fields. The message names the field but not its
  ///   value. Spaces and tabs around a value are removed: they are not part of it.
  package func checkedFields() throws(TransportError) -> HTTPFields {
    guard fields.count < 1000 else {
      throw .refused(
        .invalidHeader, "the request has \(fields.count) header fields, above the maximum of 999", hint: "send fewer")
    }
    var result = HTTPFields()
    result.reserveCapacity(fields.count)
    for field in fields { result.append(try HTTPField(checkedName: field.name, value: field.value)) }
    return result
  }

  /// The names only, because values may be secret.
  public var description: String { "[" + fields.map(\.name).joined(separator: ", ") + "]" }
}

extension RawHeaders.Name {
  /// `Accept`.
  public static let accept: Self = "Accept"
  /// `Authorization`. Redacted in logs and not sent to other origins.
  public static let authorization: Self = "Authorization"
  /// `Cache-Control`.
  package static let cacheControl: Self = "Cache-Control"
  /// `Content-Encoding`.
  package static let contentEncoding: Self = "Content-Encoding"
  /// `Content-Type`. A body that has a type sets this field.
  public static let contentType: Self = "Content-Type"
  /// `Cookie`. Redacted in logs and not sent to other origins.
  public static let cookie: Self = "Cookie"
  /// `Idempotency-Key`. A request with this field may be retried, even if its method is not idempotent.
  public static let idempotencyKey: Self = "Idempotency-Key"
  /// `If-Match`.
  package static let ifMatch: Self = "If-Match"
  /// `If-Modified-Since`.
  package static let ifModifiedSince: Self = "If-Modified-Since"
  /// `If-None-Match`.
  public static let ifNoneMatch: Self = "If-None-Match"
  /// `Origin`.
  public static let origin: Self = "Origin"
  /// `Prefer` (RFC 7240).
  package static let prefer: Self = "Prefer"
  /// `Range`.
  public static let range: Self = "Range"
  /// `Referer`.
  package static let referer: Self = "Referer"
  /// `User-Agent`.
  public static let userAgent: Self = "User-Agent"
}

extension HTTPField {
  /// Makes a field from raw strings.
  ///
  /// - Throws: code `invalid_header`, if name or value is not allowed.
  init(checkedName name: String, value: String) throws(TransportError) {
    guard let fieldName = HTTPField.Name(name) else {
      throw .refused(
        .invalidHeader, "\"\(name.prefix(40).escapedForDisplay)\" cannot be the name of a header field",
        hint: "letters, digits and !#$%&'*+-.^_`|~ are allowed")
    }
    for byte in value.utf8 where byte.isControl && byte != 0x09 { throw RequestCheck.controlCharacter(in: name) }
    self.init(name: fieldName, value: String(value[...].withoutBlanks))
  }
}

extension String {
  /// Returns whether both are the same header field name (RFC 9110 §5.1).
  func isSameFieldName(as other: String) -> Bool {
    utf8.elementsEqual(other.utf8) { $0.lowercasedASCII == $1.lowercasedASCII }
  }
}
