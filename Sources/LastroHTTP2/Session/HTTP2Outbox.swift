// SPDX-License-Identifier: Apache-2.0

/// The part of a request's body that has not gone out, and its end.
struct HTTP2Outbox {
  private var bytes: [UInt8] = []
  private var start = 0
  private let capacity: Int
  /// Bytes that may still be provided, where the length is known.
  private(set) var remaining: Int64?
  private(set) var isEnded = false
  private(set) var trailers: HTTP2Fields?
  /// Whether nghttp2 waits for more.
  var isDry = false
  /// Whether more was asked for since the last that came.
  var hasAsked = false
  /// Whether all was provided that was announced. Of a body of no bytes the end is still to be asked for.
  var isComplete: Bool { remaining == 0 && hasBegun }
  private var hasBegun = false

  init(capacity: Int, length: Int64?) { (self.capacity, remaining) = (capacity, length) }

  var count: Int { bytes.count - start }
  var room: Int { isEnded ? 0 : capacity - count }
  var isShort: Bool { (remaining ?? 0) > 0 }

  /// - Returns: how many bytes were taken; `nil` where they are more than was said.
  mutating func append(_ new: UnsafeRawBufferPointer) -> Int? {
    let taken = min(new.count, room)
    if let remaining {
      guard new.count <= remaining else { return nil }
      self.remaining = remaining - Int64(taken)
    }
    if start == bytes.count {
      bytes.removeAll(keepingCapacity: true)
      start = 0
    } else if start > 0, bytes.count + taken > capacity {
      bytes.removeSubrange(..<start)
      start = 0
    }
    bytes.append(contentsOf: new.prefix(taken))
    hasAsked = false
    hasBegun = true
    return taken
  }

  mutating func end(_ trailers: HTTP2Fields?) {
    isEnded = true
    self.trailers = trailers
  }

  mutating func take(to space: UnsafeMutableRawBufferPointer) {
    let count = min(space.count, self.count)
    bytes.withUnsafeBytes { space.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count])) }
    start += count
  }
}
