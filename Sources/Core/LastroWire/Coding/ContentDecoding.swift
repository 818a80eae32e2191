// SPDX-License-Identifier: Apache-2.0

/// The result of one call of a decoder.
package struct CodingProgress: Equatable, Sendable {
  package var consumed = 0
  package var produced = 0

  package init(consumed: Int = 0, produced: Int = 0) { (self.consumed, self.produced) = (consumed, produced) }
}

/// A decoder of one content coding. It is used by one thread at a time.
package protocol ContentDecoding: AnyObject {
  /// The number of bytes that are held for decoding, in addition to this object.
  var heldBytes: Int { get }

  /// Decodes until the input is used up, the output is full, or an error occurs, which this call or the next throws. If
  /// nothing was produced, all input has been consumed and more is needed.
  ///
  /// - Parameters:
  ///   - space: the output buffer; not empty.
  ///   - now: in nanoseconds, for the rate of input that produces no data; 0 if there is no clock.
  /// - Throws: ``CodingViolation``. The decoder must not be used any more then.
  func decode(
    _ input: UnsafeRawBufferPointer, into space: UnsafeMutableRawBufferPointer, now: UInt64
  ) throws(CodingViolation) -> CodingProgress

  /// Ends the input. Empty input is a valid empty body.
  ///
  /// - Throws: ``CodingViolation`` of kind `truncated`.
  func end() throws(CodingViolation)
}

extension CodingViolation {
  // The texts that the decoders of all codings share.
  package static var truncatedCoding: Self { .init(.truncated, "the compressed body ended before its data did") }
  package static var noCodingMemory: Self { .init(.memory, "out of memory for decompression") }
  package static var corruptCoding: Self { .init(.corrupt, "the compressed body is corrupt, or not compressed at all") }
  package static var trailingBytes: Self { .init(.trailing, "bytes follow the end of the compressed data") }
}
