// SPDX-License-Identifier: Apache-2.0

/// Takes the body of a response out of the bytes of a connection (RFC 9112 §6.3). It copies nothing: it tells where
/// the body lies in the bytes it is given.
package struct ResponseBodyMachine {
  private enum State {
    case bytes(Int64)
    case chunks
    case untilClose
    case done
  }

  private var state = State.done
  /// Only where there are chunks.
  private var chunks: ChunkMachine?

  /// Of an answer without a body.
  init() {}

  /// - Parameters:
  ///   - framing: of the response's head.
  ///   - hasNoBody: for answers to HEAD, 1xx, 204 and 304.
  ///   - maximumTrailerBytes: of the trailer section behind chunks. Default 64 KiB.
  ///   - maximumTrailerFields: of that section. Default 512.
  package init(
    _ framing: ResponseFraming, hasNoBody: Bool = false, maximumTrailerBytes: Int = 65_536,
    maximumTrailerFields: Int = 512
  ) {
    if hasNoBody {
      state = .done
    } else if framing.isChunked {
      state = .chunks
      chunks = ChunkMachine(maximumTrailerBytes: maximumTrailerBytes, maximumTrailerFields: maximumTrailerFields)
    } else if let length = framing.contentLength {
      state = length == 0 ? .done : .bytes(length)
    } else {
      state = .untilClose
    }
  }

  package var isDone: Bool { if case .done = state { true } else { false } }

  /// Whether the body may end where the connection does.
  package var mayEndHere: Bool {
    if case .untilClose = state { true } else { isDone }
  }

  /// How many bytes are still to come, where the head said so; `nil` for chunks, and a body that the connection's
  /// end ends.
  package var remainingBytes: Int64? {
    switch state {
    case .bytes(let left): left
    case .done: 0
    case .chunks, .untilClose: nil
    }
  }

  /// The trailers of a chunked body, once it is done.
  package var trailers: [ResponseHead.Field] { chunks?.trailers ?? [] }

  /// Passes over bytes that are not the body's. Where some of the body lies at `position` then, the result is how
  /// many bytes; ``take(_:)`` is to be told how many of them were used. 0: the bytes are used up, or the body has
  /// ended at `position`.
  package mutating func findBody(
    in bytes: UnsafeRawBufferPointer, at position: inout Int
  ) throws(HeadViolation) -> Int {
    switch state {
    case .done: 0
    case .untilClose: bytes.count - position
    case .bytes(let left): Int(min(left, Int64(bytes.count - position)))
    case .chunks: try findChunk(in: bytes, at: &position)
    }
  }

  private mutating func findChunk(
    in bytes: UnsafeRawBufferPointer, at position: inout Int
  ) throws(HeadViolation) -> Int {
    let found = try chunks?.findData(in: bytes, at: &position) ?? 0
    if found == 0, chunks?.isDone != false { state = .done }
    return found
  }

  /// So many bytes of the body that was found are used.
  package mutating func take(_ count: Int) {
    switch state {
    case .bytes(let left): state = left == Int64(count) ? .done : .bytes(left - Int64(count))
    case .chunks: chunks?.take(count)
    case .untilClose, .done: break
    }
  }
}
