// SPDX-License-Identifier: Apache-2.0

/// Splits a JSON text sequence (RFC 7464) into its texts, from bytes that arrive in pieces.
///
/// Each text follows a record separator (0x1E); consecutive separators count as one. If brackets and quotes are closed
/// at the LF after a text, the text is returned at once, without a look at what follows. Otherwise it ends at the next
/// separator. A text that is not closed there is truncated. So may be a number, `true`, `false` or `null` that is not
/// followed by a blank (§2.4).
///
/// Rules for editing: no I/O; keeps one text of no more than the maximum.
package struct JSONTextSequenceMachine: Sendable {
  /// The structure of a text, as far as it has been read.
  private struct Shape {
    var depth = 0
    var isInString = false
    var isEscaped = false
    var isScalar = false

    var isClosed: Bool { depth == 0 && !isInString }

    mutating func note(_ byte: UInt8) {
      if isEscaped {
        isEscaped = false
      } else if isInString {
        isEscaped = byte == 0x5C
        isInString = byte != 0x22
      } else {
        switch byte {
        case 0x22: isInString = true
        case 0x5B, 0x7B: depth += 1
        case 0x5D, 0x7D: depth = max(0, depth - 1)
        default: break
        }
      }
    }
  }

  private let maximumTextBytes: Int
  private var piece: [UInt8] = []
  private var offset = 0
  private var text: [UInt8] = []
  private var shape = Shape()
  private var isBehindSeparator = false

  package init(maximumTextBytes: Int) { self.maximumTextBytes = maximumTextBytes }

  /// Adds received bytes.
  package mutating func feed(_ bytes: [UInt8]) {
    piece = Array(piece[offset...]) + bytes
    offset = 0
  }

  /// Returns the next text; `nil` if more bytes are needed.
  package mutating func next() throws(JSONTextViolation) -> [UInt8]? {
    while offset < piece.count {
      let byte = piece[offset]
      offset += 1
      if byte == 0x1E {
        defer { isBehindSeparator = true }
        if let text = try takeText() { return text }
      } else {
        try note(byte)
        if byte == 0x0A, shape.isClosed, let text = try takeText() { return text }
      }
    }
    return nil
  }

  /// Returns the last text if neither an LF nor a separator followed it. Call it when the bytes have ended and `next`
  /// returns `nil`.
  package mutating func finish() throws(JSONTextViolation) -> [UInt8]? { try takeText() }

  private mutating func note(_ byte: UInt8) throws(JSONTextViolation) {
    if text.isEmpty {
      if Self.isBlank(byte) { return }
      guard isBehindSeparator else { throw .outsideOfText }
      shape = Shape(isScalar: byte != 0x22 && byte != 0x5B && byte != 0x7B)
    }
    guard text.count < maximumTextBytes else { throw .tooLong(maximumTextBytes) }
    text.append(byte)
    shape.note(byte)
  }

  private mutating func takeText() throws(JSONTextViolation) -> [UInt8]? {
    guard let last = text.last else { return nil }
    guard shape.isClosed, !shape.isScalar || Self.isBlank(last) else { throw .truncated }
    defer { (text, isBehindSeparator) = ([], false) }
    return text
  }

  /// Returns whether the byte is JSON white space (RFC 8259 §2).
  static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
}
