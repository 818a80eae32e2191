// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The parts of a response in order, each with a body to be read as it arrives.
///
/// Nothing is read ahead of the reader, and at most one chunk of a part is in memory. Parts and their bodies must be
/// read by a single task. Leaving the loop, or releasing parts and bodies, cancels the transfer.
package struct MultipartParts: AsyncSequence, Sendable {
  /// The type of a part.
  package typealias Element = MultipartPart
  /// The error that ends the sequence.
  package typealias Failure = TransportError

  let reader: PartReader

  /// An iterator over the parts.
  package struct AsyncIterator: AsyncIteratorProtocol {
    let reader: PartReader

    /// Returns the next part, after skipping unread bytes of the previous one; `nil` after the last part.
    ///
    /// Bytes after the last delimiter (RFC 2046 §5.1.1) are skipped, so that the connection can be reused. If there are
    /// more than 64 KiB, or they do not end within a second, the transfer is cancelled instead.
    ///
    /// - Throws: `TransportError`: the errors of reading the body; stage `response` with code `truncated_body` if the
    ///   message ends before its last delimiter, or `malformed_response` if it violates RFC 2046; stage `limit` if it
    ///   exceeds a limit.
    package mutating func next() async throws(TransportError) -> MultipartPart? { try await reader.nextPart() }

    /// Returns the next part, like ``next()``.
    ///
    /// - Throws: the same errors as ``next()``.
    package mutating func next(isolation actor: isolated (any Actor)?) async throws(TransportError) -> MultipartPart? {
      try await reader.nextPart()
    }
  }

  /// Creates an iterator. A second iterator continues where the first one stopped.
  package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: reader) }
}
