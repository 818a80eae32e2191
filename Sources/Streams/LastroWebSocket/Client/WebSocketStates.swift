// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro

/// The states of a ``WebSocket``: the current one, followed by each later one, up to the final one. The sequence does
/// not keep the socket open.
package struct WebSocketStates: AsyncSequence, Sendable {
  /// A state.
  package typealias Element = WebSocketState
  /// The sequence never fails, but ends early in a cancelled task.
  package typealias Failure = Never

  let core: WebSocketCore

  /// An iterator over states; it may be used by one task at a time.
  package struct AsyncIterator: AsyncIteratorProtocol {
    let core: WebSocketCore
    var index: Int

    /// Returns the next state; `nil` after the final one.
    package mutating func next() async -> WebSocketState? { await next(isolation: nil) }

    /// Returns the next state; `nil` after the final one.
    package mutating func next(isolation actor: isolated (any Actor)?) async -> WebSocketState? {
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
  package func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(core: core, index: core.shared.change { state, _ in state.history.count - 1 })
  }
}
