// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSimulation
import LastroSupport

/// A store in memory that all machines of a simulation share. An operation takes up to a millisecond.
final class SimulatedStore: Sendable {
  private let made = Lock<(store: MemoryFleetStore, start: Duration)?>(nil)

  /// The number of operations so far.
  var operations: Int { made.withLock { $0?.store.operations ?? 0 } }

  /// Returns the store, which the first machine makes, and the time at which it did.
  func shared(by machine: SimulatedMachine) -> (store: MemoryFleetStore, start: Duration) {
    let time = machine.timeSource, random = machine.randomSource
    return made.withLock { made in
      if let made { return made }
      let store = MemoryFleetStore(now: { time.sinceEpoch() }) {
        try? await Task.sleep(for: .microseconds(Int64(random.next() % 1000)))
      }
      let first = (store: store, start: time.now())
      made = first
      return first
    }
  }
}
