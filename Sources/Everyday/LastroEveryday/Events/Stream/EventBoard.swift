// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

/// The latest states of a stream, and its latest response.
struct EventBoard: Sendable {
  private static let capacity = 16

  private var states: [EventStreamState] = []
  /// The number of states posted so far.
  private(set) var count = 0
  private(set) var isOver = false
  var response: ResourceResponse?

  mutating func post(_ state: EventStreamState) {
    if states.count == Self.capacity { states.removeFirst() }
    states.append(state)
    count += 1
    isOver = if case .ended = state { true } else { false }
  }

  /// Returns the state with a number, or the oldest later state that is still stored, and the number of the next state.
  func state(from number: Int) -> (state: EventStreamState, next: Int)? {
    let number = max(number, count - states.count)
    guard number < count else { return nil }
    return (states[states.count - (count - number)], number + 1)
  }
}

/// Posts the end of the stream when the last reader is released.
final class EventLease: Sendable {
  let board: Watched<EventBoard>

  init(_ board: Watched<EventBoard>) { self.board = board }

  deinit { end() }

  func end() {
    board.change { board in
      if !board.isOver { board.post(.ended) }
    }
  }
}
