// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

extension Decoder {
  /// Returns a container like `container(keyedBy:)`, but throws an error for a member without a key.
  func strictContainer<Key: CodingKey & CaseIterable & RawRepresentable<String>>(
    keyedBy type: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    let known = Set(Key.allCases.map(\.rawValue))
    if let stranger = try container(keyedBy: AnyKey.self).allKeys.filter({ !known.contains($0.stringValue) })
      .min(by: { $0.stringValue < $1.stringValue })
    {
      throw DecodingError.teaching(
        ConfigurationError(
          "the member is unknown", hint: "the members are \(Key.allCases.map(\.rawValue).joined(separator: ", "))"),
        at: codingPath + [stranger])
    }
    return try container(keyedBy: type)
  }
}

extension KeyedDecodingContainer {
  /// Decodes a case of an enum from its raw value; returns `nil` if there is no such member.
  func decodeWord<Word: RawRepresentable<String> & CaseIterable>(forKey key: Key) throws -> Word? {
    guard let text = try decodeIfPresent(String.self, forKey: key) else { return nil }
    guard let word = Word(rawValue: text) else {
      throw DecodingError.teaching(
        ConfigurationError(
          "the value \"\(text.onOneLine)\" is unknown",
          hint: "the values are \(Word.allCases.map(\.rawValue).joined(separator: ", "))"), at: codingPath + [key])
    }
    return word
  }
}

extension DecodingError {
  /// Returns the type that was found where another was expected, from the error text of Foundation's decoder.
  static func found(_ context: Context) -> String? {
    let text = context.debugDescription.split(separator: " but found ").dropFirst().first
    guard let word = text?.split(separator: " instead").first.map(String.init) else { return nil }
    return ["number": "a number", "bool": "a Boolean", "a dictionary": "an object"][word] ?? word
  }

  /// Returns a decoding error that carries message and hint to ``ConfigurationError/init(decoding:of:)``.
  static func teaching(_ error: ConfigurationError, at path: [any CodingKey]) -> DecodingError {
    .dataCorrupted(.init(codingPath: path, debugDescription: error.description, underlyingError: error))
  }
}

extension ConfigurationError {
  /// Makes an error from a decoder's error, with the path in the decoded document.
  ///
  /// - Parameter name: the name of the document.
  init(decoding error: any Error, of name: String) {
    switch error as? DecodingError {
    case .keyNotFound(let key, let context):
      self.init("\(name): \(Self.path(context.codingPath + [key])) is missing", hint: "add it")
    case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
      let words = ["Array": "an array", "Dictionary": "an object", "String": "a string", "Bool": "true or false"]
      let wanted = words[String("\(type)".prefix { $0 != "<" })] ?? "a number"
      self.init(
        "\(name): \(Self.path(context.codingPath)) has to be \(wanted)"
          + (DecodingError.found(context).map { ", and is \($0)" } ?? ""), hint: "write it in JSON's notation")
    case .dataCorrupted(let context):
      if let cause = context.underlyingError as? ConfigurationError {
        self.init("\(name): \(Self.path(context.codingPath)): \(cause.message)", hint: cause.hint)
      } else if context.codingPath.isEmpty {
        let cause = context.underlyingError.map { ": \("\($0)".onOneLine)" } ?? ""
        self.init("\(name) is not valid JSON\(cause)", hint: "begin it with {, and leave out comments")
      } else {
        self.init("\(name): \(Self.path(context.codingPath)): \(context.debugDescription.onOneLine)")
      }
    default: self.init("\(name) cannot be read: \("\(error)".onOneLine)")
    }
  }

  private static func path(_ keys: [any CodingKey]) -> String {
    keys.isEmpty
      ? "its top"
      : keys.reduce(into: "") { path, key in
        path += key.intValue.map { "[\($0)]" } ?? (path.isEmpty ? "" : ".") + key.stringValue.onOneLine
      }
  }
}
