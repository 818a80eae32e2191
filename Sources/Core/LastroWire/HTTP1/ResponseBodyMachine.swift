// SPDX-License-Identifier: Apache-2.0

/// Extracts the body of a response from the bytes of a connection (RFC 9112 §6.3). It copies nothing: it reports the
/// positions of body bytes in its input.
package struct ResponseBodyMachine {
  private enum State {
    case bytes(Int64)
    case chunks
    case untilClose
    case done
  }

  private var state = State.done
  /// The chunk decoder; `nil` unless the body is chunked.
  private var chunks: ChunkMachine?

  /// Creates a machine for a response without a body.
  init() {}

  /// Creates a machine for a response.
  ///
  /// - Parameters:
  ///   - framing: the framing in the response's head.
  ///   - hasNoBody: `true` for responses to HEAD, 1xx, 204 and 304.
  ///   - maximumTrailerBytes: the limit of the trailer section after chunks. Default 64 KiB.
  ///   - maximumTrailerFields: the limit of trailer fields. Default 512.
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

  /// Whether the body is complete if the connection ends now.
  package var mayEndHere: Bool {
    if case .untilClose = state { true } else { isDone }
  }

  /// The trailers of a chunked body, once it is complete.
  package var trailers: [ResponseHead.Field] { chunks?.trailers ?? [] }

  /// Skips framing bytes up to the next bytes of the body. Returns the number of body bytes at `position`; call
  /// ``markUsed(_:)`` with the number that was used. Returns 0 if all bytes have been consumed, or if the body has
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

  /// Marks bytes of the body as used.
  package mutating func markUsed(_ count: Int) {
    switch state {
    case .bytes(let left): state = left == Int64(count) ? .done : .bytes(left - Int64(count))
    case .chunks: chunks?.markUsed(count)
    case .untilClose, .done: break
    }
  }
}
