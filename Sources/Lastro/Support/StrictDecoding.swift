// SPDX-License-Identifier: Apache-2.0

extension Decoder {
  /// As `container(keyedBy:)`; members that have no key are errors.
  func strictContainer<Key: CodingKey & CaseIterable & RawRepresentable<String>>(
    keyedBy type: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    let known = Set(Key.allCases.map(\.rawValue))
    if let stranger = try container(keyedBy: AnyKey.self).allKeys.filter({ !known.contains($0.stringValue) })
      .min(by: { $0.stringValue < $1.stringValue })
    {
      throw DecodingError.teaching(
        ConfigurationError(
          "there is no such member", hint: "the members are \(Key.allCases.map(\.rawValue).joined(separator: ", "))"),
        at: codingPath + [stranger])
    }
    return try container(keyedBy: type)
  }
}

extension KeyedDecodingContainer {
  /// One of the words of an enum; `nil` where there is no such member.
  func decodeWord<Word: RawRepresentable<String> & CaseIterable>(forKey key: Key) throws -> Word? {
    guard let text = try decodeIfPresent(String.self, forKey: key) else { return nil }
    guard let word = Word(rawValue: text) else {
      throw DecodingError.teaching(
        ConfigurationError(
          "\"\(text.onOneLine)\" is none of its values",
          hint: "they are \(Word.allCases.map(\.rawValue).joined(separator: ", "))"), at: codingPath + [key])
    }
    return word
  }
}

extension DecodingError {
  /// Carries message and hint to ``ConfigurationError/init(decoding:of:)``.
  static func teaching(_ error: ConfigurationError, at path: [any CodingKey]) -> DecodingError {
    .dataCorrupted(.init(codingPath: path, debugDescription: error.description, underlyingError: error))
  }
}

extension ConfigurationError {
  /// What a decoder threw, with the path in what it was reading.
  ///
  /// - Parameter name: what that was.
  init(decoding error: any Error, of name: String) {
    guard let error = error as? DecodingError else {
      self.init("\(name) cannot be read: \(error)")
      return
    }
    switch error {
    case .keyNotFound(let key, let context):
      self.init("\(name): \(Self.path(context.codingPath + [key])) is missing")
    case .typeMismatch(_, let context), .valueNotFound(_, let context):
      self.init("\(name): \(Self.path(context.codingPath)): \(context.debugDescription.onOneLine)")
    case .dataCorrupted(let context):
      if let cause = context.underlyingError as? ConfigurationError {
        self.init("\(name): \(Self.path(context.codingPath)): \(cause.message)", hint: cause.hint)
      } else if context.codingPath.isEmpty {
        let cause = context.underlyingError.map { ": \("\($0)".onOneLine)" } ?? ""
        self.init("\(name) is no JSON\(cause)", hint: "it starts with { and has no comments")
      } else {
        self.init("\(name): \(Self.path(context.codingPath)): \(context.debugDescription.onOneLine)")
      }
    @unknown default: self.init("\(name) cannot be read: \("\(error)".onOneLine)")
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

private struct AnyKey: CodingKey {
  var stringValue: String
  var intValue: Int? { nil }
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}
