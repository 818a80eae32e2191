// SPDX-License-Identifier: Apache-2.0

internal import CLastroZstd
internal import FoundationEssentials
internal import Lastro

/// An encoder of Zstandard. libzstd holds up to 4 MiB for it.
final class ZstdEncoder: ContentEncoding {
  private let context: OpaquePointer
  private let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)

  /// Creates an encoder; returns `nil` if memory runs out.
  init?() {
    guard let context = ZSTD_createCCtx() else {
      space.deallocate()
      return nil
    }
    self.context = context
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
  }

  deinit {
    ZSTD_freeCCtx(context)
    space.deallocate()
  }

  func encode(_ bytes: Data, isLast: Bool) throws(TransportError) -> Data {
    var result = Data()
    let isComplete = bytes.withUnsafeBytes { input in
      var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
      while true {
        var target = ZSTD_outBuffer(dst: space.baseAddress, size: space.count, pos: 0)
        let left = ZSTD_compressStream2(context, &target, &source, isLast ? ZSTD_e_end : ZSTD_e_flush)
        if ZSTD_isError(left) != 0 { return false }
        result.append(contentsOf: space[..<target.pos])
        if left == 0, source.pos == source.size { return true }
      }
    }
    guard isComplete else { throw .cannotCompress("zstd") }
    return result
  }
}
