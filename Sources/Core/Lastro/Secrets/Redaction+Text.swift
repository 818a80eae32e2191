// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

extension Redaction {
  /// Returns any kind of text with its secrets masked. The value after every secret name in JSON, form, query or header
  /// notation is masked. User information in URLs, and all occurrences of ``secrets``, are masked as well.
  ///
  /// The text is not parsed, so truncated text is handled too: a value without an end is masked up to the end of the
  /// text.
  public func text(_ text: String) -> String { self.text(text, isCut: false) }

  /// Returns text with its secrets masked.
  ///
  /// - Parameter isCut: whether the text is truncated at its end.
  package func text(_ text: String, isCut: Bool) -> String {
    // Mask by value first: a secret may contain a delimiter, which would end the search by name.
    let text = secretsMasked(in: text, isCut: isCut)
    // Work on bytes: delimiters are ASCII, but a combining mark or CR LF forms one `Character` with its neighbour.
    let bytes = Array(Self.maskingUserInformation(text).utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      guard SecretScanner.isWordByte(bytes[index]) else {
        result.append(bytes[index])
        index += 1
        continue
      }
      let end = bytes[index...].firstIndex { !SecretScanner.isWordByte($0) } ?? bytes.count
      let word = bytes[index..<end]
      result += word
      index = end
      var scanner = SecretScanner(bytes, after: end)
      guard let value = scanner.value(of: String(decoding: word, as: UTF8.self), isSecret: isSecret(name:inQuery:)),
        !value.isEmpty, !Self.isErrorCode(value, in: bytes, after: word)
      else { continue }
      result += bytes[end..<value.lowerBound]
      result += Self.mask.utf8
      index = value.upperBound
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Returns whether a value is the number of a Foundation error, as in `Error Domain=NSCocoaErrorDomain Code=3840`. In
  /// other places, `code=` may be an OAuth authorization code.
  private static func isErrorCode(_ value: Range<Int>, in bytes: [UInt8], after name: ArraySlice<UInt8>) -> Bool {
    guard name.elementsEqual("Code".utf8) else { return false }
    // Limit the search backwards: searching from the start of the text each time would take quadratic time.
    let line = bytes[..<name.startIndex].suffix(128)
    guard let domain = line.split(separator: UInt8(ascii: " ")).last, domain.starts(with: "Domain=NS".utf8),
      line.dropLast().suffix(domain.count + 6).starts(with: "Error ".utf8)
    else { return false }
    // A blank ends the number, before the message.
    let number = bytes[value].prefix { $0 != UInt8(ascii: " ") }
    let digits = number.drop { $0 == UInt8(ascii: "-") }
    return (1...6).contains(digits.count) && digits.allSatisfy { (0x30...0x39).contains($0) }
  }

  /// Returns the text with `user:password@` masked after every `://`.
  static func maskingUserInformation(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "@")) else { return text }
    var result = ""
    var rest = text[...]
    while let start = rest.firstRange(of: "://")?.upperBound {
      result += rest[..<start]
      rest = rest[start...]
      let authority = rest.prefix { !"/?#\"'<>\\".contains($0) && !$0.isWhitespace }
      if let at = authority.lastIndex(of: "@") {
        result += mask
        rest = rest[at...]
      }
    }
    return result + rest
  }

  /// Returns a URL, or its last part, in which the values of the query that must not be shown are masked.
  func maskingQueryValues(ofURL url: String) -> String {
    guard let mark = url.utf8.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
      return url
    }
    let query = url.utf8.index(after: mark)
    let items = url.utf8[query...].split(separator: UInt8(ascii: "&"))
    return url[..<query] + items.map { shown(queryItem: Substring($0)) }.joined(separator: "&")
  }
}
