// SPDX-License-Identifier: Apache-2.0

/// A set of tasks that wait for signals of a state behind a lock. A resumed task checks the state itself, so a change
/// resumes only the tasks that it concerns.
struct SignalWaiters<Signal: OptionSet & Sendable> where Signal.Element == Signal {
  typealias Continuation = CheckedContinuation<Void, Never>

  private var waiting: [(id: UInt64, signal: Signal, continuation: Continuation)] = []

  mutating func add(_ id: UInt64, for signal: Signal, _ continuation: Continuation) {
    waiting.append((id, signal, continuation))
  }

  /// Removes and returns the tasks that wait for one of these signals.
  mutating func take(_ signals: Signal) -> [Continuation] {
    guard !waiting.isEmpty else { return [] }
    var taken: [Continuation] = []
    waiting.removeAll { waiter in
      let isMet = !waiter.signal.isDisjoint(with: signals)
      if isMet { taken.append(waiter.continuation) }
      return isMet
    }
    return taken
  }

  mutating func take(_ id: UInt64) -> Continuation? {
    waiting.firstIndex { $0.id == id }.map { waiting.remove(at: $0).continuation }
  }
}
