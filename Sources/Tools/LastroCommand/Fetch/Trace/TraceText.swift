// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

/// The text of a trace, in the manner of curl's `--trace` and `--trace-ascii`.
///
/// Heads are written as lines, because the bytes on the wire are not known here: they depend on the HTTP version.
/// Secrets are masked as in logs.
struct TraceText {
  /// The notation of bodies.
  enum Style {
    /// Hexadecimal digits and characters, 16 bytes on a line.
    case hexadecimal
    /// Characters alone, at most 64 on a line.
    case ascii
  }

  enum Direction: String {
    case sent = "=> Send"
    case received = "<= Recv"
  }

  /// The maximum number of bytes of a body that are shown.
  static let maximumBody = 16 * 1024

  let style: Style

  /// Returns a line about the connection, or about a failure.
  func info(_ text: String) -> String { "== Info: \(text.onOneLine)\n" }

  /// Returns a head.
  ///
  /// - Parameter first: the request line or the status line.
  func head(_ direction: Direction, _ first: String, _ fields: [HTTPField], _ redaction: Redaction) -> String {
    let lines = [first] + fields.map { "\($0.name.rawName): \(redaction.value(of: $0))" }
    return "\(direction.rawValue) header\n" + lines.map { $0.onOneLine + "\n" }.joined() + "\n"
  }

  /// Returns a body.
  ///
  /// - Parameters:
  ///   - beginning: the whole body, or its first ``maximumBody`` bytes.
  ///   - count: the number of bytes of the body.
  ///   - isCut: whether more of the body was to come, so that it may end with a part of a secret. Default false.
  ///   - redaction: the rules for masking.
  func body(
    _ direction: Direction, _ beginning: [UInt8], count: Int64, isCut: Bool = false, _ redaction: Redaction
  ) -> String {
    let shown = Array(beginning.prefix(Self.maximumBody))
    let hidden = count - Int64(shown.count)
    let bytes = Self.masked(shown, isCut: isCut || hidden > 0, redaction)
    let rows = style == .hexadecimal ? Self.hexadecimalRows(bytes) : Self.textRows(bytes)
    let title = "\(direction.rawValue) data, \(count) bytes (0x\(String(count, radix: 16)))\n"
    return title + rows.joined() + (hidden > 0 ? info("\(hidden) more bytes are not shown") : "")
  }

  /// Returns the bytes with their secrets masked. Bytes that are not UTF-8 are read as Latin-1, so that a secret among
  /// them is found as well.
  private static func masked(_ bytes: [UInt8], isCut: Bool, _ redaction: Redaction) -> [UInt8] {
    var whole = bytes[...]
    if isCut, let lead = whole.lastIndex(where: { $0 & 0xC0 != 0x80 }), whole[lead] >= 0xC0 { whole = whole[..<lead] }
    if let text = String(validating: whole, as: UTF8.self) {
      return Array(redaction.text(text, isCut: isCut).utf8)
    }
    let latin = String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    return redaction.text(latin, isCut: isCut).unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
  }

  private static func hexadecimalRows(_ bytes: [UInt8]) -> [String] {
    stride(from: 0, to: bytes.count, by: 16).map { offset in
      let row = bytes[offset..<min(offset + 16, bytes.count)]
      let codes = row.map { digits($0, count: 2) + " " }.joined()
      let blanks = String(repeating: " ", count: 48 - codes.utf8.count)
      return "\(digits(offset, count: 4)): \(codes)\(blanks)\(shown(row))\n"
    }
  }

  /// Returns lines of at most 64 characters. A line feed, with or without a carriage return, ends a line.
  private static func textRows(_ bytes: [UInt8]) -> [String] {
    var rows: [String] = []
    var offset = 0
    while offset < bytes.count {
      let end = min(offset + 64, bytes.count)
      var row = bytes[offset..<end]
      var next = end
      if let feed = bytes[offset..<min(end + 2, bytes.count)].firstIndex(of: 0x0A) {
        row = bytes[offset..<feed]
        if row.last == 0x0D { row = row.dropLast() }
        next = feed + 1
        if row.count > 64 { (row, next) = (row.prefix(64), end) }
      }
      rows.append("\(digits(offset, count: 4)): \(shown(row))\n")
      offset = next
    }
    return rows
  }

  private static func shown(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes.map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: ".") }, as: UTF8.self)
  }

  private static func digits(_ number: some BinaryInteger, count: Int) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
  }
}
