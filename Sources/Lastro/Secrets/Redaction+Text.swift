// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

extension Redaction {
  /// Text of any kind as it may be seen: after every secret name in JSON, form, query or header notation the value is
  /// masked, and so are user information in URLs and, wherever they stand, ``secrets``.
  ///
  /// It does not parse, so text that was cut off is handled as well: a value without an end is masked to the end.
  public func text(_ text: String) -> String { self.text(text, isCut: false) }

  /// - Parameter isCut: whether the text goes on where it ends.
  package func text(_ text: String, isCut: Bool) -> String {
    // By value first: a secret may have a delimiter in it, at which the search by name would stop.
    let text = secretsMasked(in: text, isCut: isCut)
    // By bytes: delimiters are ASCII, and a combining mark or CR LF makes one `Character` with its neighbour.
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

  /// Whether a value is the number of a Foundation error, as in `Error Domain=NSCocoaErrorDomain Code=3840`. Elsewhere
  /// `code=` may be the code of an OAuth grant.
  private static func isErrorCode(_ value: Range<Int>, in bytes: [UInt8], after name: ArraySlice<UInt8>) -> Bool {
    guard name.elementsEqual("Code".utf8) else { return false }
    // Not back to the beginning: that would take the square of a text of many such words.
    let line = bytes[..<name.startIndex].suffix(128)
    guard let domain = line.split(separator: UInt8(ascii: " ")).last, domain.starts(with: "Domain=NS".utf8),
      line.dropLast().suffix(domain.count + 6).starts(with: "Error ".utf8)
    else { return false }
    // The number ends before the message, at a blank.
    let number = bytes[value].prefix { $0 != UInt8(ascii: " ") }
    let digits = number.drop { $0 == UInt8(ascii: "-") }
    return (1...6).contains(digits.count) && digits.allSatisfy { (0x30...0x39).contains($0) }
  }

  /// `user:password@` after every `://`, masked.
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

  /// The URL, or the end of one, with the values of its query masked that are not to be shown.
  func maskingQueryValues(ofURL url: String) -> String {
    guard let mark = url.utf8.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
      return url
    }
    let query = url.utf8.index(after: mark)
    let items = url.utf8[query...].split(separator: UInt8(ascii: "&"))
    return url[..<query] + items.map { shown(queryItem: Substring($0)) }.joined(separator: "&")
  }
}
