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
        !value.isEmpty
      else { continue }
      result += bytes[end..<value.lowerBound]
      result += Self.mask.utf8
      index = value.upperBound
    }
    return String(decoding: result, as: UTF8.self)
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
