// SPDX-License-Identifier: Apache-2.0

/// Undoes the content codings of one body, the last applied first, in pieces of the caller's size.
///
/// Each coding takes what an ``InflateMachine`` holds, and each but the last applied a piece of 16 KiB.
package final class ContentDecoder {
  private static let pieceBytes = 16_384

  private var machine: InflateMachine
  /// Undoes what was applied after this coding.
  private let outer: ContentDecoder?
  /// What `outer` gave, from `position` on.
  private let piece: UnsafeMutableRawBufferPointer
  private var position = 0
  private var count = 0

  private init(_ format: InflateMachine.Format, after outer: ContentDecoder?) {
    machine = InflateMachine(format)
    self.outer = outer
    piece = .allocate(byteCount: outer == nil ? 0 : Self.pieceBytes, alignment: 16)
  }

  deinit { piece.deallocate() }

  /// - Parameter codings: in the order in which they were applied.
  /// - Returns: `nil` where there is nothing to undo, or a coding that cannot be undone.
  package static func make(_ codings: [ContentCoding]) -> ContentDecoder? {
    var decoder: ContentDecoder?
    for coding in codings.reversed() {
      switch coding {
      case .gzip: decoder = ContentDecoder(.gzip, after: decoder)
      case .deflate: decoder = ContentDecoder(.deflate, after: decoder)
      case .other: return nil
      }
    }
    return decoder
  }

  /// Bytes that are held for decoding, besides this object.
  package var heldBytes: Int { machine.heldBytes + piece.count + (outer?.heldBytes ?? 0) }

  /// Decodes until the space is full, the input is used up, or something is wrong, which the next call throws. Where
  /// nothing was produced, all input was consumed, and nothing can be had without more.
  ///
  /// - Parameters:
  ///   - space: not empty.
  ///   - now: in nanoseconds, for the rate of input that stands for nothing. Default 0: there is no clock.
  /// - Throws: ``CodingViolation``; the decoder is not to be used any more.
  package func decode(
    _ input: UnsafeRawBufferPointer, into space: UnsafeMutableRawBufferPointer, now: UInt64 = 0
  ) throws(CodingViolation) -> InflateMachine.Progress {
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

  /// The input has ended.
  ///
  /// - Throws: ``CodingViolation`` of kind `truncated`.
  package func end() throws(CodingViolation) {
    try outer?.end()
    try machine.end()
  }
}
