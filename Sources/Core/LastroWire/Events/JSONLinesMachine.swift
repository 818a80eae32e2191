// SPDX-License-Identifier: Apache-2.0

/// Splits JSON Lines, also known as NDJSON, into JSON texts, from bytes that arrive in pieces.
///
/// A line ends in LF or CRLF, and the last one may have no end. Blank lines are skipped, and a byte order mark at the
/// start is dropped (RFC 8259 §8.1). The machine does not check whether a line is JSON.
///
/// Rules for editing: no I/O; keeps one line of no more than the maximum.
package struct JSONLinesMachine: Sendable {
  private var lines: LineCutter
  private var isFirstLine = true

  package init(maximumTextBytes: Int) { lines = LineCutter(maximumBytes: maximumTextBytes, endsAtReturn: false) }

  /// Adds received bytes.
  package mutating func feed(_ bytes: [UInt8]) { lines.feed(bytes) }

  /// Returns the next text; `nil` if more bytes are needed.
  package mutating func next() throws(LineCutter.LineTooLong) -> [UInt8]? {
    while let line = try lines.next() {
      if let text = text(line) { return text }
    }
    return nil
  }

  /// Returns the text of a last line without an end, if there is one. Call it when the bytes have ended and `next`
  /// returns `nil`.
  package mutating func finish() -> [UInt8]? { text(lines.takeRest()) }

  private mutating func text(_ line: ArraySlice<UInt8>) -> [UInt8]? {
    let line = isFirstLine && line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line
    isFirstLine = false
    // JSON white space (RFC 8259 §2).
    return line.allSatisfy { [0x20, 0x09, 0x0A, 0x0D].contains($0) } ? nil : Array(line)
  }
}
