// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import HTTPTypes

/// Decodes text by its charset, as browsers do: a byte order mark decides first, then the `charset` of `Content-Type`,
/// and UTF-8 if there is neither. The labels are those of the WHATWG's Encoding standard; glibc's `iconv` converts.
enum TextDecoding {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Labels that the standard reads as another charset than their name says, by the name that `iconv` knows.
  private static let synonyms = [
    "utf8": "UTF-8", "unicode-1-1-utf-8": "UTF-8", "utf-16": "UTF-16LE",
    "us-ascii": "WINDOWS-1252", "ascii": "WINDOWS-1252", "iso-8859-1": "WINDOWS-1252", "latin1": "WINDOWS-1252",
    "iso-8859-9": "WINDOWS-1254", "latin5": "WINDOWS-1254", "iso-8859-11": "WINDOWS-874", "tis-620": "WINDOWS-874",
    "shift_jis": "CP932", "shift-jis": "CP932", "sjis": "CP932", "x-sjis": "CP932", "windows-31j": "CP932",
    "gb2312": "GB18030", "gbk": "GB18030", "euc-kr": "CP949", "ks_c_5601-1987": "CP949", "big5": "BIG5-HKSCS",
  ]

  /// Returns the text of a body.
  ///
  /// - Throws: ``Failure`` if the charset is unknown on this system, or if the bytes are not text of that charset.
  static func text(of body: Data, contentType: String?) throws -> String {
    if body.starts(with: [0xEF, 0xBB, 0xBF]) { return try utf8(body.dropFirst(3)) }
    if body.starts(with: [0xFF, 0xFE]) { return try convert(body.dropFirst(2), from: "UTF-16LE", label: "utf-16le") }
    if body.starts(with: [0xFE, 0xFF]) { return try convert(body.dropFirst(2), from: "UTF-16BE", label: "utf-16be") }
    guard let label = contentType.flatMap(charset) else { return try utf8(body) }
    let name = synonyms[label] ?? label.uppercased()
    return name == "UTF-8" ? try utf8(body) : try convert(body, from: name, label: label)
  }

  private static func utf8(_ bytes: Data) throws -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw notText("UTF-8") }
    return text
  }

  private static func notText(_ charset: String) -> Failure { Failure(description: "the body is not \(charset) text") }

  /// Returns the `charset` of a media type in lower case (RFC 9110 §8.3.2); `nil` if it has none.
  static func charset(of contentType: String) -> String? {
    for parameter in contentType.split(separator: ";").dropFirst() {
      let parts = parameter.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, parts[0].trimmed == "charset" else { continue }
      let value = parts[1].trimmed.filter { $0 != "\"" && $0 != "'" }
      return value.isEmpty ? nil : value
    }
    return nil
  }

  private static func convert(_ bytes: Data, from name: String, label: String) throws -> String {
    // `iconv` would read more of a name, such as `//IGNORE`.
    let isPlain = label.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789-_.:".contains($0) }
    guard isPlain, let converter = iconv_open("UTF-8", name), converter != iconv_t(bitPattern: -1) else {
      throw Failure(description: "the body's charset \"\(label.prefix(40).escapedForDisplay)\" is not known here")
    }
    defer { iconv_close(converter) }
    let text = bytes.withUnsafeBytes { (input: UnsafeRawBufferPointer) -> [UInt8]? in converted(input, by: converter) }
    guard let text else { throw notText(label) }
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns the text in UTF-8; `nil` if the bytes are not text of the charset.
  ///
  /// It is converted in chunks, because a string that was made as long as the text can be at most would keep four times
  /// the memory of its bytes.
  private static func converted(_ input: UnsafeRawBufferPointer, by converter: iconv_t) -> [UInt8]? {
    var text: [UInt8] = []
    text.reserveCapacity(input.count)
    // `iconv` does not write to its input.
    var from = UnsafeMutablePointer(mutating: input.bindMemory(to: CChar.self).baseAddress)
    var inputLeft = input.count
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { chunk -> [UInt8]? in
      var isFlushing = false
      while true {
        var to = chunk.baseAddress
        var room = chunk.count
        let result =
          isFlushing
          ? iconv(converter, nil, nil, &to, &room) : iconv(converter, &from, &inputLeft, &to, &room)
        let isFull = result == -1 && errno == E2BIG
        let count = chunk.count - room
        text.append(contentsOf: UnsafeRawBufferPointer(chunk).prefix(count))
        if isFull, count > 0 { continue }
        guard result != -1, inputLeft == 0 else { return nil }
        if isFlushing { return text }
        // Some charsets keep the last character back, because a combining one might follow.
        isFlushing = true
      }
    }
  }
}

extension Substring {
  fileprivate var trimmed: String { lowercased().filter { $0 != " " && $0 != "\t" } }
}
