// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The parts of an answer, one after the other, each with a body to be read while it comes.
///
/// Nothing is read ahead of the reader, and no more of a part is in memory than a chunk. It has one reader: parts and
/// their bodies are read by one task. Leaving the loop, or dropping parts and bodies, cancels the transfer.
public struct MultipartParts: AsyncSequence, Sendable {
  /// A part.
  public typealias Element = MultipartPart
  /// Why the rest did not come.
  public typealias Failure = TransportError

  let reader: PartReader

  /// Reads the parts.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let reader: PartReader

    /// The next part, behind what is left unread of the one before; `nil` behind the last.
    ///
    /// What the server sends behind the last delimiter (RFC 2046 §5.1.1) is passed over, so that its connection can be
    /// used again. Where that is more than 64 KiB, or has not ended after a second, the transfer is cancelled instead.
    ///
    /// - Throws: `TransportError`: what reading the body throws; stage `response` with code `truncated_body` where the
    ///   message ends before its last delimiter, or `malformed_response` where it breaks RFC 2046; stage `limit` where
    ///   it exceeds one.
    public mutating func next() async throws(TransportError) -> MultipartPart? { try await reader.nextPart() }

    /// The next part; as ``next()``.
    ///
    /// - Throws: as ``next()``.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(TransportError) -> MultipartPart? {
      try await reader.nextPart()
    }
  }

  /// Makes the iterator. Another one goes on where this one stands.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: reader) }
}
