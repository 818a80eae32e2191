// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroSupport
import LastroTesting

/// The faults of a server, with the number of requests that each has matched.
final class ServerFaults: Sendable {
  private let faults: [ServerFault]
  private let random: RandomSource
  private let counts: Lock<[Int]>

  init(_ faults: [ServerFault], seed: UInt64) {
    self.faults = faults
    random = .seeded(seed)
    counts = Lock([Int](repeating: 0, count: faults.count))
  }

  /// Returns the effects for the next request.
  func effects(_ method: String, _ path: String) -> [ServerFault.Effect] {
    faults.indices.filter { faults[$0].matches(method, path) }.compactMap { index -> ServerFault.Effect? in
      let number = counts.withLock { counts in
        counts[index] += 1
        return counts[index]
      }
      let applies =
        switch faults[index].frequency {
        case .always: true
        case .every(let count): number % count == 0
        case .first(let count): number <= count
        case .share(let share): random.unit() < share
        }
      return applies ? faults[index].effect : nil
    }
  }

  /// Waits for the delays among the effects. Returns false when the server is stopped.
  static func wait(_ effects: [ServerFault.Effect], _ connection: LoopbackConnection) -> Bool {
    effects.allSatisfy { if case .delay(let time) = $0 { connection.pause(time) } else { true } }
  }
}

/// The flags of commands whose server has faults.
struct ServerFaultFlags: ParsableArguments {
  @Option(
    help: """
      Fault, such as 'GET /orders: 503 every 3'. METHOD PATH: EFFECT [every N | first N | P%]. METHOD may be *; PATH may \
      contain *. EFFECT is a status, delay TIME, cut BYTES of the body, reset, or hang. Repeatable.
      """)
  var fault: [String] = []
  @Option(help: "Seed for faults by percentage.")
  var seed: UInt64 = 1

  func parsed() throws -> [ServerFault] {
    try fault.map { (text) throws -> ServerFault in
      do throws(ServerFault.Refusal) {
        return try ServerFault(parsing: text)
      } catch {
        throw ValidationError(
          "--fault '\(error.text.onOneLine)' cannot be parsed; write it like 'GET /orders: 503 every 3'.")
      }
    }
  }
}
