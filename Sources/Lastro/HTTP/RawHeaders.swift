// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Header fields as they are written, in order, several of a name allowed; not yet checked.
///
/// `HTTPFields` silently turns a CR, LF or NUL in a value into a space. A value that was put together from somebody's
/// input must be refused instead, so it stays raw until ``checkedFields()``.
///
/// ```swift
/// var headers: RawHeaders? { ["Accept": "application/json", "X-Tenant": tenant] }
/// ```
public struct RawHeaders: Sendable, Hashable, ExpressibleByDictionaryLiteral {
  /// One field.
  public struct Field: Sendable, Hashable {
    /// Name as written.
    public var name: String
    /// Value as written.
    public var value: String

    /// Makes a field; nothing is checked yet.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The fields, in order.
  public private(set) var fields: [Field]

  /// Fields from names and values.
  public init(_ fields: [(String, String)] = []) { self.fields = fields.map { Field(name: $0.0, value: $0.1) } }

  /// Fields that are checked already.
  public init(_ fields: HTTPFields) { self.fields = fields.map { Field(name: $0.name.rawName, value: $0.value) } }

  /// Fields in the order of the literal; a name may come more than once.
  public init(dictionaryLiteral elements: (String, String)...) { self.init(elements) }

  /// Adds a field behind the others.
  public mutating func append(_ name: String, _ value: String) { fields.append(Field(name: name, value: value)) }

  /// The fields in the shared vocabulary.
  ///
  /// - Throws: stage `request`, code `invalid_header`, for a name that is no token (RFC 9110 §5.6.2) and a value with
  ///   control characters (§5.5). The message names the field, never the value.
  public func checkedFields() throws(TransportError) -> HTTPFields {
    var result = HTTPFields()
    for field in fields { result.append(try field.checked()) }
    return result
  }
}

extension RawHeaders.Field {
  func checked() throws(TransportError) -> HTTPField {
    guard name.utf8.allSatisfy(ByteClass.isToken), let parsed = HTTPField.Name(name) else {
      throw .refused(
        .invalidHeader, "the header field name \(name.debugDescription) is no token",
        hint: "letters, digits and !#$%&'*+-.^_`|~ only, with no space before the colon")
    }
    guard value.utf8.allSatisfy(ByteClass.isFieldValue) else {
      throw .refused(
        .invalidHeader, "the value of the header field \(name) has a control character",
        hint: "CR, LF and NUL would start another field or request: remove or encode them")
    }
    return HTTPField(name: parsed, value: value)
  }
}

extension ResourceRequest {
  /// Sets a header field in place of any of that name, with the raw text checked.
  ///
  /// - Throws: as ``RawHeaders/checkedFields()``.
  public mutating func setHeader(_ name: String, _ value: String) throws(TransportError) {
    let field = try RawHeaders.Field(name: name, value: value).checked()
    head.headerFields[field.name] = field.value
  }

  /// Adds a header field beside those of that name, with the raw text checked.
  ///
  /// - Throws: as ``RawHeaders/checkedFields()``.
  public mutating func addHeader(_ name: String, _ value: String) throws(TransportError) {
    head.headerFields.append(try RawHeaders.Field(name: name, value: value).checked())
  }
}
