// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSimulation
import LastroTesting
import Testing

@testable import LastroResilience

/// A service of 20 workers that serves 200 requests a second and receives 600.
enum Overload {
  static let workers = 20
  /// The mean time in seconds that a worker takes.
  static let service = 0.1
  static let capacity = Double(workers) / service
  static let load = 3 * capacity
  static let seconds = 7
  /// The seconds that count: in the first ones the queue fills and limits adapt.
  static let counted = 3..<7
  static let timeout = Duration.seconds(1)

  struct Setting {
    var name: String
    var algorithm: ConcurrencyAlgorithm?
  }

  static let settings = [
    Setting(name: "none"), Setting(name: "Polly in .NET: 1000 permits", algorithm: .fixed(1000)),
    Setting(name: "resilience4j: bulkhead of 25", algorithm: .fixed(25)),
    Setting(name: "Lastro: AIMD", algorithm: .aimd()), Setting(name: "Lastro: gradient", algorithm: .gradient()),
  ]

  /// The outcomes of the settings, for the tests and for the page.
  static let outcomes: Task<[(setting: Setting, outcome: Outcome)], any Error> = Task {
    var outcomes: [(setting: Setting, outcome: Outcome)] = []
    for setting in settings { outcomes.append((setting, try await run(setting.algorithm))) }
    return outcomes
  }

  static func run(_ algorithm: ConcurrencyAlgorithm?) async throws -> Outcome {
    let simulation = Simulation { world in
      let random = RandomSource.seeded(world.seed)
      try world.server("https://api.example", workers: workers) { _ in
        try await Task.sleep(for: .seconds(service * (0.5 + random.unit())))
        return .text("")
      }
      world.machine("client") { machine in
        var configuration = StackConfiguration()
        configuration.timeouts.attempt = timeout
        // There is no queue, because only the limit is under test.
        let limiter = try algorithm.map { try ConcurrencyLimiter($0, queueCapacity: 0) }
        configuration.resilience = Resilience(limiter: limiter)
        let stack = machine.stack(configuration)
        await Arrivals.run(on: machine, rate: load, seconds: Double(seconds)) { _ in
          _ = try? await stack.fetch(.text("https://api.example/"))
        }
      }
    }
    return Outcome(try await simulation.run(seed: 1), seconds: seconds)
  }

  /// Returns the goodput as a share of the capacity.
  static func share(_ outcome: Outcome) -> Double { outcome.share(of: capacity, in: counted) }
}

@Suite("Overload, simulated", .timeLimit(.minutes(30)))
struct OverloadSimulationTests {
  @Test("At three times the capacity a limit keeps at least 90 % of it, compared with less than 5 % without a limit")
  func aimd() async throws {
    let outcomes = try await Overload.outcomes.value.map { Overload.share($0.outcome) }
    #expect(outcomes[0] < 0.05 && outcomes[1] < 0.05, "\(outcomes)")
    #expect(outcomes[3] >= 0.9 && outcomes[4] >= 0.9, "\(outcomes)")
    for initial in [200, 1] {
      let share = Overload.share(try await Overload.run(.aimd(initial: initial)))
      #expect(share >= 0.9, "\(initial): \(share)")
    }
  }
}
