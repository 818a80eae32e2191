// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro

/// A contiguous buffer whose bytes are removed from the front.
struct FramerBuffer {
  enum Parsed {
    case tooFew
    case consumed
    case invalid(Int)
  }

  private var bytes: [UInt8] = []
  private var start = 0

  var count: Int { bytes.count - start }

  mutating func append(_ data: Data) {
    if start > 0, start == bytes.count || start > 65_536 {
      bytes.removeFirst(start)
      start = 0
    }
    bytes.append(contentsOf: data)
  }

  mutating func take(_ length: Int) -> Data? {
    guard length >= 0, length <= count else { return nil }
    defer { drop(length) }
    return Data(bytes[start..<start + length])
  }

  mutating func parse(
    _ minimum: Int, _ maximum: Int, isComplete: Bool, _ body: (UnsafeMutableRawBufferPointer?, Bool) -> Int
  ) -> Parsed {
    let offered = max(0, min(count, maximum))
    guard offered >= minimum || isComplete else { return .tooFew }
    let isLast = isComplete && offered == count
    let first = start
    let consumed =
      offered == 0
      ? body(nil, isLast)
      : bytes.withUnsafeMutableBytes { body(.init(rebasing: $0[first..<first + offered]), isLast) }
    guard (0...offered).contains(consumed) else { return .invalid(consumed) }
    drop(consumed)
    return .consumed
  }

  private mutating func drop(_ length: Int) {
    start += length
    if start == bytes.count {
      bytes.removeAll(keepingCapacity: bytes.capacity <= 65_536)
      start = 0
    }
  }
}

/// Content that a framer passes to the layer above.
struct FramerDelivery {
  var data: Data
  var metadata: [any ProtocolMetadata]
  var isComplete: Bool
}

/// The output of a framer, and the piece of a message that it is asked to write.
struct FramerOutput {
  var message = FramerBuffer()
  var isComplete = false
  var written = Data()
}

/// The input of a framer.
struct FramerInput {
  /// A delivery that waits for more bytes.
  struct Passing {
    /// The number of bytes left; `nil`: all bytes up to the end of the stream.
    var remaining: Int?
    var metadata: any ProtocolMetadata
    var isComplete: Bool
  }

  let limit: Int
  var bytes = FramerBuffer()
  /// The metadata of the latest message of the protocol below.
  var metadata: [any ProtocolMetadata] = []
  var deliveries: [FramerDelivery] = []
  var passing: Passing?
  /// The number of bytes that must be available before the framer is called again.
  var needed = 0
  /// Whether the input has ended.
  var hasEnded = false
  /// Whether the framer will not be called again.
  var isSpent = false
  /// Whether the layer above was informed of the end.
  var hasToldEnd = false
  /// Whether the last message that was passed through is incomplete.
  var isPassedOpen = false

  var isDelivering: Bool { passing != nil }

  init(limit: Int) { self.limit = limit }

  /// Starts a delivery; returns whether all of its bytes were available.
  mutating func deliver(_ length: Int, _ message: any ProtocolMetadata, _ isComplete: Bool) -> Bool {
    passing = Passing(remaining: length == .max ? nil : length, metadata: message, isComplete: isComplete)
    pass(deliversEmpty: true)
    return passing == nil
  }

  /// Delivers the available bytes; `deliversEmpty` determines whether metadata is delivered without any byte.
  mutating func pass(deliversEmpty: Bool = false) {
    guard let passing else { return }
    let length = min(passing.remaining ?? .max, bytes.count)
    let isLast = passing.remaining.map { $0 == length } ?? hasEnded
    guard length > 0 || isLast || deliversEmpty else { return }
    deliveries.append(
      FramerDelivery(
        data: bytes.take(length) ?? Data(), metadata: [passing.metadata] + metadata,
        isComplete: isLast && passing.isComplete))
    if isLast {
      self.passing = nil
      if passing.remaining == nil { isSpent = true }
    } else {
      self.passing?.remaining = passing.remaining.map { $0 - length }
    }
  }
}
