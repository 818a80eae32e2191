// SPDX-License-Identifier: Apache-2.0

internal import Lastro

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// What has come in and has not been read by every observer.
///
/// Without observers it keeps what comes, up to its limits; the first observer begins with that, a later one with what
/// comes next.
struct WebSocketLog {
  /// What a piece costs besides its bytes.
  private static let overhead = 64

  private let capacity: Int
  private var pieces: [WebSocketFragment] = []
  /// Pieces at the front that everybody has read.
  private var read = 0
  /// Number of the first piece in `pieces`.
  private var base: UInt64 = 0
  private var size = 0
  private var cursors: [UInt64: UInt64] = [:]
  private var lastObserver: UInt64 = 0
  /// Observers that wait for what comes next.
  private var waiting: Set<UInt64> = []

  init(capacity: Int) { self.capacity = capacity }

  /// Whether another piece may come. One always may where there is none.
  var hasRoom: Bool { size < capacity }
  private var end: UInt64 { base + UInt64(pieces.count) }

  mutating func append(_ piece: WebSocketFragment) {
    pieces.append(piece)
    size += piece.data.count + Self.overhead
  }

  mutating func join() -> UInt64 {
    lastObserver += 1
    cursors[lastObserver] = cursors.isEmpty ? base + UInt64(read) : end
    return lastObserver
  }

  /// Whether everything was read, and whoever reads has come back for more.
  var isCaughtUp: Bool { read == pieces.count && waiting.count == cursors.count }

  mutating func leave(_ observer: UInt64) {
    cursors[observer] = nil
    waiting.remove(observer)
    trim()
  }

  func hasNext(for observer: UInt64) -> Bool { cursors[observer].map { $0 < end } ?? false }

  mutating func next(for observer: UInt64) -> WebSocketFragment? {
    guard let cursor = cursors[observer], cursor < end else {
      waiting.insert(observer)
      return nil
    }
    waiting.remove(observer)
    let piece = pieces[Int(cursor - base)]
    cursors[observer] = cursor + 1
    trim()
    return piece
  }

  private mutating func trim() {
    guard let slowest = cursors.values.min() else { return }
    while base + UInt64(read) < slowest {
      size -= pieces[read].data.count + Self.overhead
      pieces[read].data = .init()
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
