// SPDX-License-Identifier: Apache-2.0

/// The fields of a head or of trailers, collected while nghttp2 decodes them.
struct HTTP2Block {
  struct Lengths: Equatable {
    var name: Int
    var value: Int
  }

  /// The most memory of a block that is kept for the next one.
  private static let keptBytes = 4_096
  private static let keptFields = 64
  /// The bytes that each field counts in addition to its name and value (RFC 9113 §6.5.2).
  private static let fieldOverhead = 32

  /// The stream of the fields; 0 if no block is being received.
  private(set) var stream: Int32 = 0
  /// Whether CONTINUATION frames belong to the block.
  private(set) var continues = false
  /// The names and values, one after the other.
  private(set) var bytes: [UInt8] = []
  private(set) var lengths: [Lengths] = []
  /// The size that further fields may have.
  private var room = 0

  /// The size of all fields.
  var size: Int { bytes.count + Self.fieldOverhead * lengths.count }

  mutating func begin(on stream: Int32, continues: Bool, room: Int) {
    end()
    (self.stream, self.continues, self.room) = (stream, continues, room)
  }

  /// Counts a field towards the limit. Returns false if the block exceeds its limit.
  mutating func count(_ length: Int) -> Bool {
    room -= length + Self.fieldOverhead
    return room >= 0
  }

  mutating func append(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: name)
    bytes.append(contentsOf: value)
    lengths.append(Lengths(name: name.count, value: value.count))
  }

  mutating func end() {
    stream = 0
    bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptBytes)
    lengths.removeAll(keepingCapacity: lengths.capacity <= Self.keptFields)
  }
}
