// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The messages of a ``WebSocket``, whole or in pieces. Each iterator is a separate observer, from the moment it is
/// created; it may be used by one task at a time.
struct WebSocketReception<Element: Sendable>: AsyncSequence, Sendable {
  typealias Failure = WebSocketError
  typealias Read = @Sendable (WebSocketObserver) async throws(WebSocketError) -> Element?

  let socket: WebSocket
  let read: Read

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(observer: WebSocketObserver(socket), read: read) }

  struct AsyncIterator: AsyncIteratorProtocol {
    let observer: WebSocketObserver
    let read: Read

    mutating func next() async throws(WebSocketError) -> Element? { try await read(observer) }

    mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError) -> Element? {
      try await read(observer)
    }
  }
}
