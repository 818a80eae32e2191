// SPDX-License-Identifier: Apache-2.0

internal import CLastroPrimitives
internal import FoundationEssentials

/// An encoder of gzip. zlib holds 256 KiB for it.
final class GzipEncoder: ContentEncoding {
  // zlib's state refers to the stream, which therefore must not move.
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)

  /// Creates an encoder; returns `nil` if memory runs out.
  init?() {
    stream.initialize(to: z_stream())
    if clastro_gzip_init(stream) != Z_OK { return nil }
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
    space.deallocate()
  }

  func encode(_ bytes: Data, isLast: Bool) throws(TransportError) -> Data {
    var result = Data()
    let isComplete = bytes.withUnsafeBytes { input in
      var position = 0
      repeat {
        // zlib counts in unsigned int.
        let part = UnsafeRawBufferPointer(rebasing: input[position...].prefix(1 << 30))
        let isEnd = position + part.count == input.count
        let flush = isEnd ? isLast ? Z_FINISH : Z_SYNC_FLUSH : Z_NO_FLUSH
        stream.pointee.next_in = UnsafeMutablePointer(mutating: part.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = uInt(part.count)
        repeat {
          stream.pointee.next_out = space.bindMemory(to: UInt8.self).baseAddress
          stream.pointee.avail_out = uInt(space.count)
          if deflate(stream, flush) == Z_STREAM_ERROR { return false }
          result.append(contentsOf: space[..<(space.count - Int(stream.pointee.avail_out))])
        } while stream.pointee.avail_out == 0
        position += part.count
      } while position < input.count
      return true
    }
    guard isComplete else { throw .cannotCompress("gzip") }
    return result
  }
}
