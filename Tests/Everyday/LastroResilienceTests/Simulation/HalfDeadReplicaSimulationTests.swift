// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSimulation
import LastroTesting
import Testing

@testable import LastroResilience

/// Three replicas, one of which fails four of five requests for a while. It fails them at once, so that it seems to be
/// the best to a balancer that looks for the least load.
enum HalfDeadReplica {
  static let rate = 20.0
  static let ill = 20..<70
  static let seconds = 90
  static let failing = "replica-2.example"
  private static let never = OutlierPolicy(consecutiveFailures: 1_000_000)

  struct Setting {
    var name: String
    var policy: BalancingPolicy
    var outliers: OutlierPolicy
  }

  /// Each way of balancing, first without ejection.
  static let settings = [
    Setting(name: "none: round robin", policy: .roundRobin, outliers: never),
    Setting(name: "none: least loaded", policy: .leastLoaded, outliers: never),
    Setting(name: "Lastro: round robin, outliers ejected", policy: .roundRobin, outliers: .standard),
    Setting(name: "Lastro: least loaded, outliers ejected", policy: .leastLoaded, outliers: .standard),
  ]

  struct Result {
    var setting: Setting
    var outcome: Outcome
    var failures: Int
    /// The number of calls, to any replica, while one replica was ill.
    var callsWhileIll: Int
  }

  /// The results of the settings, for the tests and for the page.
  static let results: Task<[Result], any Error> = Task {
    var results: [Result] = []
    for setting in settings { results.append(try await run(setting)) }
    return results
  }

  private static func run(_ setting: Setting) async throws -> Result {
    let urls = (1...3).map { "https://replica-\($0).example" }
    let simulation = Simulation { world in
      let random = RandomSource.seeded(world.seed), begin = ContinuousClock.now
      for url in urls {
        try world.server(url, workers: 20) { _ in
          let second = Int((ContinuousClock.now - begin).inSeconds)
          if url.hasSuffix(failing), ill.contains(second), random.unit() < 0.8 { return LoopbackResponse(status: 500) }
          try await Task.sleep(for: random.exponential(0.05))
          return .text("")
        }
      }
      world.machine("client") { machine in
        let replicas = try EndpointSet(
          try urls.map { try Endpoint($0) }, policy: setting.policy, outliers: setting.outliers)
        let stack = machine.stack()
        await Arrivals.run(on: machine, rate: rate, seconds: Double(seconds)) { _ in
          _ = try? await replicas.withEndpoint { origin throws(HTTPFetchError<TextAPIError>) in
            try await stack.fetch(.text("\(origin)/"))
          }
        }
      }
    }
    let trace = try await simulation.run(seed: 7)
    return Result(
      setting: setting, outcome: Outcome(trace, server: failing, seconds: seconds),
      failures: trace.calls.count { !$0.hasSucceeded },
      callsWhileIll: trace.calls.count { ill.contains(Int($0.start.inSeconds)) })
  }
}

@Suite("Half-dead replica, simulated", .timeLimit(.minutes(30)))
struct HalfDeadReplicaSimulationTests {
  @Test(
    "With one of three replicas failing 80 %, ejection leaves less than a third of the failures, with any balancing")
  func ejection() async throws {
    let results = try await HalfDeadReplica.results.value
    for policy in BalancingPolicy.allCases {
      let both = results.filter { $0.setting.policy == policy }
      let (without, with) = (try #require(both.first), try #require(both.last))
      #expect(both.count == 2)
      #expect(without.failures > without.callsWhileIll / 5, "\(policy)")
      #expect(with.failures < without.failures / 3, "\(policy): \(with.failures) of \(without.failures)")
    }
  }
}
