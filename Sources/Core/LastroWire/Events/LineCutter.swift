// SPDX-License-Identifier: Apache-2.0

/// Splits bytes that arrive in pieces into lines.
///
/// Rules for editing: no I/O; buffers at most one incomplete line (the maximum length and a CR) and the fed bytes that
/// are not yet split.
package struct LineCutter: Sendable {
  /// A line exceeds the maximum, which is the value.
  package struct LineTooLong: Error, Equatable {
    package var maximum: Int
  }

  private let maximumBytes: Int
  /// Whether CR also ends a line, with an optional LF after it. Otherwise only LF does, and the CR before it remains
  /// part of the line.
  private let endsAtReturn: Bool
  private var piece: [UInt8] = []
  private var offset = 0
  /// The beginning of a line whose end has not been received.
  private var begun: [UInt8] = []
  /// Whether the previous line ended in a CR at the end of a piece, so that its LF may follow.
  private var skipsLineFeed = false

  package init(maximumBytes: Int, endsAtReturn: Bool) {
    self.maximumBytes = maximumBytes
    self.endsAtReturn = endsAtReturn
  }

  /// Adds received bytes.
  package mutating func feed(_ bytes: [UInt8]) {
    piece = offset == piece.count ? bytes : Array(piece[offset...]) + bytes
    offset = 0
  }

  /// Returns the next line without the byte that ends it; `nil` if more bytes are needed.
  package mutating func next() throws(LineTooLong) -> ArraySlice<UInt8>? {
    if skipsLineFeed, offset < piece.count {
      if piece[offset] == 0x0A { offset += 1 }
      skipsLineFeed = false
    }
    let start = offset
    let end = piece.withUnsafeBufferPointer { Self.end(in: $0, from: start, atReturn: endsAtReturn) }
    guard length(upTo: end ?? piece.count) <= maximumBytes else { throw LineTooLong(maximum: maximumBytes) }
    guard let end else {
      begun += piece[start...]
      (piece, offset) = ([], 0)
      return nil
    }
    skipsLineFeed = piece[end] == 0x0D
    offset = end + 1
    guard !begun.isEmpty else { return piece[start..<end] }
    begun += piece[start..<end]
    defer { begun = [] }
    return begun[...]
  }

  /// Returns the length of the line up to an offset in the piece. A final CR is not counted: either it belongs to the
  /// line's end, or the next byte shows that it does not.
  private func length(upTo end: Int) -> Int {
    let last = end > offset ? piece[end - 1] : begun.last
    return begun.count + end - offset - (last == 0x0D ? 1 : 0)
  }

  /// Returns the bytes after the last line end. Call it when no more bytes follow.
  package mutating func takeRest() -> ArraySlice<UInt8> {
    defer { (begun, piece, offset) = ([], [], 0) }
    return (begun + piece[offset...])[...]
  }

  private static func end(in bytes: UnsafeBufferPointer<UInt8>, from start: Int, atReturn: Bool) -> Int? {
    var index = start
    while index < bytes.count {
      let byte = bytes[index]
      if byte == 0x0A || byte == 0x0D && atReturn { return index }
      index += 1
    }
    return nil
  }
}
