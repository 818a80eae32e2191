// SPDX-License-Identifier: Apache-2.0

/// Cuts JSON Lines, also known as NDJSON, into JSON texts, however the bytes are split.
///
/// A line ends in LF or CRLF, and the last one may have no end. Lines of blanks alone are skipped, and a byte order
/// mark at the start is dropped (RFC 8259 §8.1). Whether a line is JSON is for its decoder to say.
///
/// Rules for editing: no I/O; keeps one line of no more than the maximum.
package struct JSONLinesMachine: Sendable {
  private var lines: LineCutter
  private var isFirstLine = true

  package init(maximumTextBytes: Int) { lines = LineCutter(maximumBytes: maximumTextBytes, endsAtReturn: false) }

  /// Takes the next bytes.
  package mutating func feed(_ bytes: [UInt8]) { lines.feed(bytes) }

  /// The next text; `nil` until more is fed.
  package mutating func next() throws(JSONTextViolation) -> [UInt8]? {
    do throws(LineCutter.LineTooLong) {
      while let line = try lines.next() {
        if let text = text(line) { return text }
      }
      return nil
    } catch {
      throw .tooLong(error.maximum)
    }
  }

  /// The text of a last line without an end, if there is one. To be called when the bytes have ended, and `next` has no
  /// more.
  package mutating func finish() -> [UInt8]? { text(lines.takeRest()) }

  private mutating func text(_ line: ArraySlice<UInt8>) -> [UInt8]? {
    let line = isFirstLine && line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line
    isFirstLine = false
    return line.allSatisfy(JSONTextSequenceMachine.isBlank) ? nil : Array(line)
  }
}
