// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroResilience

/// Three replicas, one of which fails four of five requests for a minute. It fails them at once, so that it seems to be
/// the best to a balancer that looks for the least load.
enum HalfDeadReplica {
  static let rate = 100.0
  static let ill = 30.0..<90.0
  static let seconds = 150

  static func settings() throws -> [(name: String, policy: BalancingPolicy, outliers: OutlierPolicy)] {
    let never = OutlierPolicy(consecutiveFailures: 1_000_000)
    return [
      ("none: round robin", .roundRobin, never), ("none: least loaded", .leastLoaded, never),
      ("Lastro: round robin, outliers ejected", .roundRobin, .standard),
      ("Lastro: least loaded, outliers ejected", .leastLoaded, .standard),
    ]
  }

  struct Result {
    var outcome: Outcome
    var failures = 0
    /// The number of calls, to any replica, while one replica was ill.
    var callsWhileIll = 0
  }

  static func run(_ policy: BalancingPolicy, _ outliers: OutlierPolicy) throws -> Result {
    let simulator = Simulator(seed: 7)
    let servers = (0..<3).map { _ in SimulatedServer(simulator, workers: 20) { simulator.exponential(0.05) } }
    let endpoints = try (0..<3).map { try Endpoint("https://replica\($0).example.org") }
    var machine = EndpointMachine(endpoints, policy: policy, outliers: outliers)
    var result = Result(outcome: Outcome(seconds: seconds))
    func call() {
      simulator.after(simulator.exponential(1 / rate)) { call() }
      let start = simulator.now
      if ill.contains(start) { result.callsWhileIll += 1 }
      let chosen = machine.choose(avoiding: [], now: simulator.time) { simulator.random.unit() }
      servers[chosen].receive { isGood in
        machine.end(
          chosen, isGood ? .success : .failure, latency: .microseconds(Int((simulator.now - start) * 1e6)),
          now: simulator.time)
        if isGood {
          result.outcome.good(at: simulator.now, latency: simulator.now - start)
        } else {
          result.failures += 1
        }
      }
    }
    call()
    simulator.after(ill.lowerBound) { servers[1].failing = 0.8 }
    simulator.after(ill.upperBound) { servers[1].failing = 0 }
    simulator.run(until: Double(seconds))
    result.outcome.load = servers[1].load
    return result
  }
}

@Suite("Half-dead replica, simulated", .ownThread)
struct HalfDeadReplicaTests {
  @Test(
    "With one of three replicas failing 80 %, ejection leaves less than a third of the failures, with any balancing")
  func ejection() throws {
    let never = OutlierPolicy(consecutiveFailures: 1_000_000)
    for policy in BalancingPolicy.allCases {
      let without = try HalfDeadReplica.run(policy, never)
      let with = try HalfDeadReplica.run(policy, .standard)
      #expect(without.failures > without.callsWhileIll / 5, "\(policy)")
      #expect(with.failures < without.failures / 3, "\(policy): \(with.failures) of \(without.failures)")
    }
  }
}
