// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro

/// The messages of a ``WebSocket``. Each iterator is a separate observer, from the moment it is created.
///
/// The sequence ends when the socket is closed, by either side and with any code, and throws when it failed. Messages
/// that arrived before the end are delivered first. The sequence keeps the socket open.
package struct WebSocketMessages: AsyncSequence, Sendable {
  /// A message.
  package typealias Element = WebSocketMessage
  /// The error that ended the sequence.
  package typealias Failure = WebSocketError

  let socket: WebSocket

  /// An iterator over messages; it may be used by one task at a time.
  package struct AsyncIterator: AsyncIteratorProtocol {
    let observer: WebSocketObserver

    /// Returns the next message; `nil` at the end. A cancelled wait throws `cancelled` and loses no message.
    ///
    /// - Throws: ``WebSocketError``: the error that made the socket fail; `cancelled`.
    package mutating func next() async throws(WebSocketError) -> WebSocketMessage? { try await observer.nextMessage() }

    /// Returns the next message; `nil` at the end.
    ///
    /// - Throws: ``WebSocketError``: the error that made the socket fail; `cancelled`.
    package mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(WebSocketError) -> WebSocketMessage? { try await observer.nextMessage() }
  }

  /// Creates an iterator, which is a new observer.
  package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(observer: WebSocketObserver(socket)) }
}
