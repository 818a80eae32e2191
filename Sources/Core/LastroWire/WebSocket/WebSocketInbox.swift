// SPDX-License-Identifier: Apache-2.0

/// The received pieces that some reader has not read yet.
///
/// Without readers, pieces are kept up to the limits. The first reader starts with them; later readers start with the
/// next piece.
struct WebSocketInbox {
  /// The cost of a piece in addition to its bytes.
  private static let overhead = 64

  private let capacity: Int
  private var pieces: [WebSocketPiece] = []
  /// The number of pieces at the front that every reader has read.
  private var read = 0
  /// The number of the first piece in `pieces`.
  private var base: UInt64 = 0
  private var size = 0
  private var cursors: [UInt64: UInt64] = [:]
  private var lastReader: UInt64 = 0
  /// The readers that wait for the next piece.
  private var waiting: Set<UInt64> = []

  init(capacity: Int) { self.capacity = capacity }

  /// Whether another piece fits. An empty inbox always has room.
  var hasRoom: Bool { size < capacity }
  private var end: UInt64 { base + UInt64(pieces.count) }

  mutating func append(_ piece: WebSocketPiece) {
    pieces.append(piece)
    size += piece.bytes.count + Self.overhead
  }

  mutating func join() -> UInt64 {
    lastReader += 1
    cursors[lastReader] = cursors.isEmpty ? base + UInt64(read) : end
    return lastReader
  }

  /// Whether every piece has been read, and every reader is waiting for more.
  var isCaughtUp: Bool { read == pieces.count && waiting.count == cursors.count }

  mutating func leave(_ reader: UInt64) {
    cursors[reader] = nil
    waiting.remove(reader)
    trim()
  }

  mutating func next(for reader: UInt64) -> WebSocketPiece? {
    guard let cursor = cursors[reader], cursor < end else {
      waiting.insert(reader)
      return nil
    }
    waiting.remove(reader)
    let piece = pieces[Int(cursor - base)]
    cursors[reader] = cursor + 1
    trim()
    return piece
  }

  private mutating func trim() {
    guard let slowest = cursors.values.min() else { return }
    while base + UInt64(read) < slowest {
      size -= pieces[read].bytes.count + Self.overhead
      pieces[read].bytes = []
      read += 1
    }
    if read == pieces.count {
      base += UInt64(read)
      pieces.removeAll(keepingCapacity: true)
      read = 0
    } else if read >= 64, read * 2 >= pieces.count {
      pieces.removeFirst(read)
      base += UInt64(read)
      read = 0
    }
  }
}
