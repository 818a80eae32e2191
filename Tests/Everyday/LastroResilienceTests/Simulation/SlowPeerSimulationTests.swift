// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSimulation
import LastroTesting
import Testing

@testable import LastroResilience

/// A server that usually responds in 20 ms, and takes a second for one request in a hundred.
enum SlowPeer {
  static let rate = 50.0
  static let seconds = 60

  struct Setting {
    var name: String
    var policy: HedgingPolicy?
  }

  static let settings = [
    Setting(name: "none"),
    Setting(
      name: "Polly in .NET: after 2 s", policy: HedgingPolicy(delay: .fixed(.seconds(2)), budgetRatio: 1)),
    Setting(name: "Lastro: after the 95th percentile, 5 %", policy: .standard),
  ]

  struct Result {
    var setting: Setting
    var outcome: Outcome
    var calls: Int
    var succeeded: Int
    var requests: Int

    /// The number of requests sent in addition to the calls, as a share of the calls.
    var extra: Double { Double(requests - calls) / Double(calls) }
  }

  /// The results of the settings, for the tests and for the page.
  static let results: Task<[Result], any Error> = Task {
    var results: [Result] = []
    for setting in settings { results.append(try await run(setting)) }
    return results
  }

  private static func run(_ setting: Setting) async throws -> Result {
    let simulation = Simulation { world in
      let random = RandomSource.seeded(world.seed)
      try world.server("https://api.example") { _ in
        try await Task.sleep(for: random.unit() < 0.01 ? .seconds(1) : random.exponential(0.02))
        return .text("")
      }
      world.machine("client") { machine in
        var configuration = StackConfiguration()
        configuration.resilience = Resilience(hedger: setting.policy.map { Hedger($0) })
        let stack = machine.stack(configuration)
        await Arrivals.run(on: machine, rate: rate, seconds: Double(seconds)) { _ in
          _ = try? await stack.fetch(.text("https://api.example/"))
        }
      }
    }
    let trace = try await simulation.run(seed: 5)
    return Result(
      setting: setting, outcome: Outcome(trace, seconds: seconds), calls: trace.calls.count,
      succeeded: trace.calls.count(where: \.hasSucceeded), requests: trace.requests.count)
  }
}

@Suite("Slow peer, simulated", .timeLimit(.minutes(30)))
struct SlowPeerSimulationTests {
  @Test("If one request in a hundred takes a second, hedging keeps p99 below 120 ms with at most 6 % more requests")
  func hedging() async throws {
    let results = try await SlowPeer.results.value
    let (without, with) = (try #require(results.first), try #require(results.last))
    #expect(with.calls > 2_500)
    #expect(without.succeeded == without.calls && with.succeeded == with.calls)
    #expect(with.outcome.percentile(0.99) < 0.12)
    #expect(with.outcome.percentile(0.99) < without.outcome.percentile(0.99) / 2)
    #expect(with.extra > 0.01)
    #expect(with.extra <= 0.06)
  }
}
