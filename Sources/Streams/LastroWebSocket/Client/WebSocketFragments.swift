// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro

/// The messages of a ``WebSocket`` in pieces as they arrive; otherwise like ``WebSocketMessages``.
package struct WebSocketFragments: AsyncSequence, Sendable {
  /// A piece of a message.
  package typealias Element = WebSocketFragment
  /// The error that ended the sequence.
  package typealias Failure = WebSocketError

  let socket: WebSocket

  /// An iterator over pieces; it may be used by one task at a time.
  package struct AsyncIterator: AsyncIteratorProtocol {
    let observer: WebSocketObserver

    /// Returns the next piece; `nil` at the end.
    ///
    /// - Throws: ``WebSocketError``: the error that made the socket fail; `cancelled`.
    package mutating func next() async throws(WebSocketError) -> WebSocketFragment? {
      try await observer.nextFragment()
    }

    /// Returns the next piece; `nil` at the end.
    ///
    /// - Throws: ``WebSocketError``: the error that made the socket fail; `cancelled`.
    package mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(WebSocketError) -> WebSocketFragment? { try await observer.nextFragment() }
  }

  /// Creates an iterator, which is a new observer.
  package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(observer: WebSocketObserver(socket)) }
}
