// SPDX-License-Identifier: Apache-2.0

internal import CLastroPrimitives

// RFC 7692 §7.2: each message is a raw deflate stream that is flushed at its end. The four bytes that end the flush are
// not sent.

/// Compresses consecutive messages.
struct WebSocketDeflater: ~Copyable {
  private let stream: UnsafeMutablePointer<z_stream>

  /// Creates a compressor; `nil` if memory cannot be allocated.
  init?(windowBits: Int) {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    guard clastro_deflate_init(stream, Z_DEFAULT_COMPRESSION, Int32(windowBits)) == Z_OK else {
      stream.deallocate()
      return nil
    }
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
  }

  /// Drops the context of earlier messages.
  mutating func reset() { deflateReset(stream) }

  /// The maximum number of bytes per call; larger inputs would overflow zlib's counters.
  private static let maximumBytes = 1 << 30

  /// Compresses a piece of a message and flushes it. The last piece omits the end of the flush.
  mutating func deflate(_ bytes: UnsafeRawBufferPointer, isFinal: Bool) -> [UInt8] {
    var output: [UInt8] = []
    var rest = bytes
    repeat {
      let count = min(rest.count, Self.maximumBytes)
      flush(UnsafeRawBufferPointer(rebasing: rest[..<count]), into: &output)
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    } while !rest.isEmpty
    guard isFinal else { return output }
    // If nothing was flushed, send an empty block, whose last four bytes the peer adds (RFC 7692 §7.2.3.6).
    return output.count >= 5 ? Array(output.dropLast(4)) : [0]
  }

  private mutating func flush(_ bytes: UnsafeRawBufferPointer, into output: inout [UInt8]) {
    // The bytes are not modified: zlib's type lacks const without ZLIB_CONST.
    stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.assumingMemoryBound(to: UInt8.self).baseAddress)
    stream.pointee.avail_in = UInt32(bytes.count)
    var isFull = true
    while isFull {
      // Enough room to flush incompressible data, so that one iteration usually suffices.
      let room = max(256, bytes.count + bytes.count >> 8 + 64)
      output += [UInt8](unsafeUninitializedCapacity: room) { space, count in
        stream.pointee.next_out = space.baseAddress
        stream.pointee.avail_out = UInt32(room)
        _ = CLastroPrimitives.deflate(stream, Z_SYNC_FLUSH)
        count = room - Int(stream.pointee.avail_out)
        isFull = stream.pointee.avail_out == 0
      }
    }
  }
}

/// Decompresses consecutive messages, with a limit on the output of each call.
struct WebSocketInflater: ~Copyable {
  private let stream: UnsafeMutablePointer<z_stream>
  private var input: [UInt8] = []
  private var position = 0

  /// Creates a decompressor; `nil` if memory cannot be allocated.
  init?(windowBits: Int) {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // zlib may not support a window of 256 bytes; a larger one works as well.
    guard clastro_inflate_init(stream, Int32(max(9, windowBits))) == Z_OK else {
      stream.deallocate()
      return nil
    }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// Drops the context of earlier messages.
  mutating func reset() { inflateReset(stream) }

  /// Whether all input has been consumed.
  var isDrained: Bool { position == input.count }

  /// Adds compressed bytes.
  mutating func append(_ bytes: [UInt8]) {
    input = isDrained ? bytes : Array(input[position...]) + bytes
    position = 0
  }

  /// Adds the bytes that end a flush and are not sent.
  mutating func appendTail() { append([0, 0, 0xFF, 0xFF]) }

  /// Whether the input ends at a point where a message may end.
  var isAtBlockEnd: Bool { isDrained && hasEndedBlock }
  /// The result of the latest call with input: a call without input would clear it.
  private var hasEndedBlock = false

  /// Returns up to `maximum` more bytes. It returns fewer only if all input has been consumed.
  mutating func inflate(upTo maximum: Int) throws(WebSocketViolation) -> [UInt8] {
    var status = Z_OK
    var position = position
    let output = [UInt8](unsafeUninitializedCapacity: maximum) { space, count in
      input.withUnsafeMutableBufferPointer { input in
        stream.pointee.next_out = space.baseAddress
        stream.pointee.avail_out = UInt32(maximum)
        while true {
          stream.pointee.next_in = input.baseAddress.map { $0 + position }
          stream.pointee.avail_in = UInt32(input.count - position)
          status = CLastroPrimitives.inflate(stream, Z_SYNC_FLUSH)
          position = input.count - Int(stream.pointee.avail_in)
          // A last block (BFINAL) within a message is allowed (RFC 7692 §7.2.3.4). Another stream follows, with the
          // same window.
          guard status == Z_STREAM_END else { break }
          inflateResetKeep(stream)
          guard position < input.count, stream.pointee.avail_out > 0 else { break }
        }
        count = maximum - Int(stream.pointee.avail_out)
      }
    }
    if position > self.position || !output.isEmpty { hasEndedBlock = stream.pointee.data_type & 128 != 0 }
    self.position = position
    guard status == Z_OK || status == Z_BUF_ERROR || status == Z_STREAM_END else {
      throw WebSocketViolation(.compression, "a compressed message does not decompress")
    }
    // Copy short output: it may remain unread for long, and a message of one byte would hold the memory of a whole
    // piece.
    return output.count == maximum ? output : output.withUnsafeBufferPointer { Array($0) }
  }
}
