// SPDX-License-Identifier: Apache-2.0

/// Cuts bytes into lines, however they come in pieces.
///
/// Rules for editing: no I/O; keeps one line of no more than the maximum and a CR, and the piece that was fed last.
package struct LineCutter: Sendable {
  /// A line is longer than the maximum, which is the value.
  package struct LineTooLong: Error, Equatable {
    package var maximum: Int
  }

  private let maximumBytes: Int
  /// Whether CR ends a line as well, with the LF that may follow it; else LF does, with the CR that
  /// may stand before it.
  private let endsAtReturn: Bool
  private var piece: [UInt8] = []
  private var offset = 0
  /// The beginning of a line whose end has not come.
  private var begun: [UInt8] = []
  /// Whether the line that was given last ended in CR at the end of a piece: its LF may be still to come.
  private var skipsLineFeed = false

  package init(maximumBytes: Int, endsAtReturn: Bool) {
    self.maximumBytes = maximumBytes
    self.endsAtReturn = endsAtReturn
  }

  /// Takes the next bytes.
  package mutating func feed(_ bytes: [UInt8]) {
    piece = offset == piece.count ? bytes : Array(piece[offset...]) + bytes
    offset = 0
  }

  /// The next line without its end; `nil` until more is fed.
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

  /// How many bytes the line has before an offset in the piece. A CR that stands last is not among them: it is part of
  /// the line's end, or what follows on it shows that it is not.
  private func length(upTo end: Int) -> Int {
    let last = end > offset ? piece[end - 1] : begun.last
    return begun.count + end - offset - (last == 0x0D ? 1 : 0)
  }

  /// What came behind the last end of a line. To be called when nothing more is fed.
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
