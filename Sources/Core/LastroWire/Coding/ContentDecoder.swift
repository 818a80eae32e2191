// SPDX-License-Identifier: Apache-2.0

/// Decodes the content codings of one body, last applied first, in pieces of the caller's size.
///
/// Each coding but the last applied needs a buffer of 16 KiB, in addition to its decoder's memory.
package final class ContentDecoder {
  private static let pieceBytes = 16_384

  private let machine: any ContentDecoding
  /// The decoder for the codings that were applied after this one.
  private let outer: ContentDecoder?
  /// The output of `outer`, unread from `position` on.
  private let piece: UnsafeMutableRawBufferPointer
  private var position = 0
  private var count = 0

  private init(_ machine: any ContentDecoding, after outer: ContentDecoder?) {
    self.machine = machine
    self.outer = outer
    piece = .allocate(byteCount: outer == nil ? 0 : Self.pieceBytes, alignment: 16)
  }

  deinit { piece.deallocate() }

  /// Creates a decoder; returns `nil` if there is nothing to decode.
  ///
  /// - Parameter decoders: those of the codings, in the order in which the codings were applied.
  package static func chain(_ decoders: [any ContentDecoding]) -> ContentDecoder? {
    decoders.reversed().reduce(nil) { ContentDecoder($1, after: $0) }
  }

  /// The number of bytes that are held for decoding, in addition to this object.
  package var heldBytes: Int { machine.heldBytes + piece.count + (outer?.heldBytes ?? 0) }

  /// Decodes until the output is full, the input is used up, or an error occurs, which the next call throws. If nothing
  /// was produced, all input has been consumed and more is needed.
  ///
  /// - Parameters:
  ///   - space: the output buffer; not empty.
  ///   - now: in nanoseconds, for the rate of input that produces no data. Default 0: there is no clock.
  /// - Throws: ``CodingViolation``. The decoder must not be used any more then.
  package func decode(
    _ input: UnsafeRawBufferPointer, into space: UnsafeMutableRawBufferPointer, now: UInt64 = 0
  ) throws(CodingViolation) -> CodingProgress {
    guard let outer else { return try machine.decode(input, into: space, now: now) }
    var consumed = 0
    while true {
      let own = try machine.decode(
        UnsafeRawBufferPointer(rebasing: piece[position..<count]), into: space, now: now)
      position += own.consumed
      if own.produced > 0 { return .init(consumed: consumed, produced: own.produced) }
      let next = try outer.decode(UnsafeRawBufferPointer(rebasing: input[consumed...]), into: piece, now: now)
      consumed += next.consumed
      (position, count) = (0, next.produced)
      if next.produced == 0 { return .init(consumed: consumed, produced: 0) }
    }
  }

  /// Ends the input.
  ///
  /// - Throws: ``CodingViolation`` of kind `truncated`.
  package func end() throws(CodingViolation) {
    try outer?.end()
    try machine.end()
  }
}
