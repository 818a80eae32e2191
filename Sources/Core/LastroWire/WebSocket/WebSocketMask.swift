// SPDX-License-Identifier: Apache-2.0

/// Masking as in RFC 6455 §5.3. Masking and unmasking are the same operation.
package enum WebSocketMask {
  /// Masks bytes in place, eight at a time.
  ///
  /// - Parameters:
  ///   - key: the mask key, with its first byte lowest.
  ///   - offset: the position of the bytes in the payload.
  package static func apply(_ key: UInt32, to bytes: UnsafeMutableRawBufferPointer, offset: Int = 0) {
    let turn = UInt32(offset & 3) * 8
    let turned = turn == 0 ? key : key >> turn | key << (32 - turn)
    let wide = (UInt64(turned) | UInt64(turned) << 32).littleEndian
    var index = 0
    while index + 8 <= bytes.count {
      let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      bytes.storeBytes(of: word ^ wide, toByteOffset: index, as: UInt64.self)
      index += 8
    }
    while index < bytes.count {
      bytes[index] ^= UInt8(truncatingIfNeeded: turned >> (UInt32(index & 3) * 8))
      index += 1
    }
  }
}

extension [UInt8] {
  /// Calls `body` with the array's bytes. Unlike `withUnsafeBytes`, it preserves the type of thrown errors.
  package func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withUnsafeBufferPointer { buffer throws(Failure) in try body(UnsafeRawBufferPointer(buffer)) }
  }
}
