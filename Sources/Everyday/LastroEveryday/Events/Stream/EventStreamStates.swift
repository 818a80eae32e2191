// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// The states of an ``EventStream``, starting with the current one; the sequence ends after ``EventStreamState/ended``.
/// A slow reader gets the latest 16 states. The sequence neither connects nor keeps the stream open.
package struct EventStreamStates: AsyncSequence, Sendable {
  /// The type of a state.
  package typealias Element = EventStreamState
  /// The sequence does not fail, but ends early in a cancelled task.
  package typealias Failure = Never

  let board: Watched<EventBoard>

  /// An iterator over states, for one task at a time.
  package struct AsyncIterator: AsyncIteratorProtocol {
    let board: Watched<EventBoard>
    var number: Int

    /// Returns the next state; `nil` after the last.
    package mutating func next() async -> EventStreamState? { await next(isolation: nil) }

    /// Returns the next state; `nil` after the last.
    package mutating func next(isolation actor: isolated (any Actor)?) async -> EventStreamState? {
      let number = number
      guard await board.wait(until: { $0.count > number || $0.isOver }) else { return nil }
      guard let (state, next) = board.read({ $0.state(from: number) }) else { return nil }
      self.number = next
      return state
    }
  }

  /// Creates an iterator that begins with the current state, if there is one.
  package func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(board: board, number: board.read { Swift.max(0, $0.count - 1) })
  }
}
