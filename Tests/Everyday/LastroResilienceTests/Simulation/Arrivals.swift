// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSimulation

/// Calls of many independent callers: each begins at a random time, whether or not earlier ones have ended.
enum Arrivals {
  /// Makes calls for a duration, and returns when all have ended.
  ///
  /// - Parameters:
  ///   - rate: the number of calls a second, on average.
  ///   - seconds: the duration.
  ///   - isOver: ends the calls earlier. Default: never.
  ///   - call: makes the call of a number, from 0 on.
  static func run(
    on machine: SimulatedMachine, rate: Double, seconds: Double, isOver: () -> Bool = { false },
    _ call: @escaping @Sendable (Int) async -> Void
  ) async {
    let random = machine.randomSource, end = ContinuousClock.now + .seconds(seconds)
    await withDiscardingTaskGroup { group in
      var number = 0
      while true {
        try? await Task.sleep(for: random.exponential(1 / rate))
        guard ContinuousClock.now < end, !isOver() else { return }
        let current = number
        number += 1
        group.addTask { await call(current) }
      }
    }
  }
}
