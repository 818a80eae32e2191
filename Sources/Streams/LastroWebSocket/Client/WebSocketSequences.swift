// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import Lastro

/// The messages of a ``WebSocket``. Each iterator is a separate observer, from the moment it is created.
///
/// The sequence ends when the socket is closed, by either side and with any code, and throws when it failed. Messages
/// that arrived before the end are delivered first. The sequence keeps the socket open.
public struct WebSocketMessages: AsyncSequence, Sendable {
  /// A message.
  public typealias Element = WebSocketMessage
  /// The error that ended the sequence.
  public typealias Failure = WebSocketError

  let socket: WebSocket

  /// An iterator over messages; it may be used by one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let observer: WebSocketObserver

    /// Returns the next message; `nil` at the end. A cancelled wait throws `cancelled` and loses no message.
    ///
    /// - Throws: ``WebSocketError``: the error that made the socket fail; `cancelled`.
    public mutating func next() async throws(WebSocketError) -> WebSocketMessage? { try await observer.nextMessage() }

    /// Returns the next message; `nil` at the end.
    ///
    /// - Throws: ``WebSocketError``: the error that made the socket fail; `cancelled`.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(WebSocketError) -> WebSocketMessage? { try await observer.nextMessage() }
  }

  /// Creates an iterator, which is a new observer.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(observer: WebSocketObserver(socket)) }
}

/// The messages of a ``WebSocket`` in pieces as they arrive; otherwise like ``WebSocketMessages``.
public struct WebSocketFragments: AsyncSequence, Sendable {
  /// A piece of a message.
  public typealias Element = WebSocketFragment
  /// The error that ended the sequence.
  public typealias Failure = WebSocketError

  let socket: WebSocket

  /// An iterator over pieces; it may be used by one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let observer: WebSocketObserver

    /// Returns the next piece; `nil` at the end.
    ///
    /// - Throws: ``WebSocketError``: the error that made the socket fail; `cancelled`.
    public mutating func next() async throws(WebSocketError) -> WebSocketFragment? {
      try await observer.nextFragment()
    }

    /// Returns the next piece; `nil` at the end.
    ///
    /// - Throws: ``WebSocketError``: the error that made the socket fail; `cancelled`.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(WebSocketError) -> WebSocketFragment? { try await observer.nextFragment() }
  }

  /// Creates an iterator, which is a new observer.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(observer: WebSocketObserver(socket)) }
}

/// The states of a ``WebSocket``: the current one, followed by each later one, up to the final one. The sequence does
/// not keep the socket open.
public struct WebSocketStates: AsyncSequence, Sendable {
  /// A state.
  public typealias Element = WebSocketState
  /// The sequence never fails, but ends early in a cancelled task.
  public typealias Failure = Never

  let core: WebSocketCore

  /// An iterator over states; it may be used by one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let core: WebSocketCore
    var index: Int

    /// Returns the next state; `nil` after the final one.
    public mutating func next() async -> WebSocketState? { await next(isolation: nil) }

    /// Returns the next state; `nil` after the final one.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> WebSocketState? {
      let index = index
      let next = await core.shared.wait(for: .news) { state, _ -> WebSocketState?? in
        if state.history.count > index { return .some(state.history[index]) }
        return state.current.isTerminal ? .some(nil) : nil
      }
      if next != nil { self.index += 1 }
      return next ?? nil
    }
  }

  /// Creates an iterator that begins with the current state.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(core: core, index: core.shared.change { state, _ in state.history.count - 1 })
  }
}

/// The payloads of the pings that a server sends to a ``WebSocket``. A slow reader gets the latest 16. The sequence
/// does not keep the socket open.
public struct WebSocketPingPayloads: AsyncSequence, Sendable {
  /// A payload.
  public typealias Element = Data
  /// The sequence never fails, but ends early in a cancelled task.
  public typealias Failure = Never

  let core: WebSocketCore

  /// An iterator over payloads; it may be used by one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let core: WebSocketCore
    var number: UInt64

    /// Returns the next payload; `nil` when the socket has ended.
    public mutating func next() async -> Data? { await next(isolation: nil) }

    /// Returns the next payload; `nil` when the socket has ended.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Data? {
      let number = number
      let next = await core.shared.wait(for: .news) { state, _ -> (element: Data, number: UInt64)?? in
        if let next = state.receivedPings.element(from: number) { return .some(next) }
        return state.current.isTerminal ? .some(nil) : nil
      }
      guard let (payload, found) = next ?? nil else { return nil }
      self.number = found + 1
      return payload
    }
  }

  /// Creates an iterator that begins with the next ping.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(core: core, number: core.shared.change { state, _ in state.receivedPings.end })
  }
}
