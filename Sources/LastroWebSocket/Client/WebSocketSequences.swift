// SPDX-License-Identifier: Apache-2.0

internal import Lastro

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The messages of a ``WebSocket``. Each iterator is an observer of its own, from the moment it is made.
///
/// It ends when the socket is closed, whichever side began and with whatever code, and throws when it failed. What came
/// before the end is delivered first. It keeps the socket open.
public struct WebSocketMessages: AsyncSequence, Sendable {
  /// A message.
  public typealias Element = WebSocketMessage
  /// Why no more come.
  public typealias Failure = WebSocketError

  let socket: WebSocket

  /// Reads messages; for one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let observer: WebSocketObserver

    /// The next message; `nil` at the end. A cancelled wait throws `cancelled`, and loses nothing.
    ///
    /// - Throws: ``WebSocketError``: why the socket failed; `cancelled`.
    public mutating func next() async throws(WebSocketError) -> WebSocketMessage? { try await observer.nextMessage() }

    /// The next message; `nil` at the end.
    ///
    /// - Throws: ``WebSocketError``: why the socket failed; `cancelled`.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(WebSocketError) -> WebSocketMessage? { try await observer.nextMessage() }
  }

  /// Joins the observers.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(observer: WebSocketObserver(socket)) }
}

/// The messages of a ``WebSocket`` in pieces, as they come in; else as ``WebSocketMessages``.
public struct WebSocketFragments: AsyncSequence, Sendable {
  /// A piece of a message.
  public typealias Element = WebSocketFragment
  /// Why no more come.
  public typealias Failure = WebSocketError

  let socket: WebSocket

  /// Reads pieces; for one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let observer: WebSocketObserver

    /// The next piece; `nil` at the end.
    ///
    /// - Throws: ``WebSocketError``: why the socket failed; `cancelled`.
    public mutating func next() async throws(WebSocketError) -> WebSocketFragment? {
      try await observer.nextFragment()
    }

    /// The next piece; `nil` at the end.
    ///
    /// - Throws: ``WebSocketError``: why the socket failed; `cancelled`.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(WebSocketError) -> WebSocketFragment? { try await observer.nextFragment() }
  }

  /// Joins the observers.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(observer: WebSocketObserver(socket)) }
}

/// The states of a ``WebSocket``: the current one, then each that follows; it ends after the last. It does not keep the
/// socket open.
public struct WebSocketStates: AsyncSequence, Sendable {
  /// A state.
  public typealias Element = WebSocketState
  /// It does not fail, but ends early in a cancelled task.
  public typealias Failure = Never

  let core: WebSocketCore

  /// Reads states; for one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let core: WebSocketCore
    var index: Int

    /// The next state; `nil` after the last.
    public mutating func next() async -> WebSocketState? { await next(isolation: nil) }

    /// The next state; `nil` after the last.
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

  /// Begins with the current state.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(core: core, index: core.shared.change { state, _ in state.history.count - 1 })
  }
}

/// The payloads of the pings that a server sends to a ``WebSocket``. A slow reader gets the latest 16. It does not keep
/// the socket open.
public struct WebSocketPingPayloads: AsyncSequence, Sendable {
  /// A payload.
  public typealias Element = Data
  /// It does not fail, but ends early in a cancelled task.
  public typealias Failure = Never

  let core: WebSocketCore

  /// Reads payloads; for one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let core: WebSocketCore
    var number: UInt64

    /// The next payload; `nil` when the socket has ended.
    public mutating func next() async -> Data? { await next(isolation: nil) }

    /// The next payload; `nil` when the socket has ended.
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

  /// Begins with the next ping.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(core: core, number: core.shared.change { state, _ in state.receivedPings.end })
  }
}
