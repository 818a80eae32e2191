// SPDX-License-Identifier: Apache-2.0

/// The part of a request's body that has not been sent, and the state of its end.
struct HTTP2Outbox {
  private var bytes: [UInt8] = []
  private var start = 0
  private let capacity: Int
  /// The number of bytes that may still be provided, if the body's length is known.
  private(set) var remaining: Int64?
  private(set) var isEnded = false
  private(set) var trailers: HTTP2Fields?
  /// Whether nghttp2 is waiting for more bytes.
  var isDry = false
  /// Whether more bytes have been requested since the last ones were provided.
  var hasAsked = false

  init(capacity: Int, length: Int64?) { (self.capacity, remaining) = (capacity, length) }

  var count: Int { bytes.count - start }
  var room: Int { isEnded ? 0 : capacity - count }
  var isShort: Bool { (remaining ?? 0) > 0 }

  /// Buffers bytes.
  ///
  /// - Returns: the number of bytes taken; `nil` if they exceed the declared length.
  mutating func append(_ new: UnsafeRawBufferPointer) -> Int? {
    let taken = min(new.count, room)
    if let remaining {
      guard new.count <= remaining else { return nil }
      self.remaining = remaining - Int64(taken)
    }
    if bytes.count + taken > capacity {
      bytes.removeSubrange(..<start)
      start = 0
    }
    bytes.append(contentsOf: new.prefix(taken))
    hasAsked = false
    return taken
  }

  mutating func end(_ trailers: HTTP2Fields?) {
    isEnded = true
    self.trailers = trailers
  }

  mutating func moveBytes(to space: UnsafeMutableRawBufferPointer) {
    let count = min(space.count, self.count)
    bytes.withUnsafeBytes { space.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count])) }
    start += count
  }
}
