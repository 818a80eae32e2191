// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

/// What a stream tells besides its events: its latest states, and the answer they came with.
struct EventBoard: Sendable {
  private static let capacity = 16

  private var states: [EventStreamState] = []
  /// How many states there were.
  private(set) var count = 0
  private(set) var isOver = false
  var response: ResourceResponse?

  mutating func post(_ state: EventStreamState) {
    if states.count == Self.capacity { states.removeFirst() }
    states.append(state)
    count += 1
    isOver = if case .ended = state { true } else { false }
  }

  /// The state with this number, or the oldest after it that is kept; and the number of the one that follows.
  func state(from number: Int) -> (state: EventStreamState, next: Int)? {
    let number = max(number, count - states.count)
    guard number < count else { return nil }
    return (states[states.count - (count - number)], number + 1)
  }
}

/// Tells that the stream has ended when its last reader is gone.
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
