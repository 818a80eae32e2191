// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroResilience

/// A service of 20 workers that serves 200 requests a second and receives 2,000.
enum Overload {
  static let capacity = 200.0
  static let seconds = 30
  static let timeout = 1.0

  static let settings: [(name: String, algorithm: ConcurrencyAlgorithm?)] = [
    ("none", nil), ("Polly in .NET: 1000 permits", .fixed(1000)), ("resilience4j: bulkhead of 25", .fixed(25)),
    ("Lastro: AIMD", .aimd()), ("Lastro: gradient", .gradient()),
  ]

  static func run(_ algorithm: ConcurrencyAlgorithm?) -> Outcome {
    let simulator = Simulator(seed: 1)
    let server = SimulatedServer(simulator, workers: 20) { simulator.exponential(0.1) }
    var outcome = Outcome(seconds: seconds)
    // There is no queue, because only the limit is under test.
    var limiter = algorithm.map { LimiterMachine($0, capacity: 0) }
    func arrive() {
      simulator.after(simulator.exponential(1 / (10 * capacity))) { arrive() }
      var grant: LimiterMachine.Grant?
      if limiter != nil {
        guard case .admitted(let admitted)? = limiter?.ask(now: simulator.time, left: nil) else { return }
        grant = admitted
      }
      let start = simulator.now
      var isOver = false
      func end(_ load: LoadSample) {
        isOver = true
        if let grant { _ = limiter?.end(grant, load, now: simulator.time) }
      }
      server.receive { _ in
        if isOver { return }
        outcome.good(at: simulator.now, latency: simulator.now - start)
        end(.measured)
      }
      simulator.after(timeout) { if !isOver { end(.dropped) } }
    }
    arrive()
    simulator.run(until: Double(seconds))
    outcome.load = server.load
    return outcome
  }
}

/// The outcome of a simulation.
struct Outcome {
  var load: [Int] = []
  /// The number of calls that succeeded in each second.
  var goodput: [Int]
  var latencies: [Double] = []
  /// The latencies of each second.
  var latencyBySecond: [[Double]]

  init(seconds: Int) {
    goodput = Array(repeating: 0, count: seconds + 1)
    latencyBySecond = Array(repeating: [], count: seconds + 1)
  }

  mutating func good(at now: Double, latency: Double) {
    let second = min(Int(now), goodput.count - 1)
    goodput[second] += 1
    latencies.append(latency)
    latencyBySecond[second].append(latency)
  }

  func percentile(_ share: Double) -> Double { Self.percentile(share, of: latencies) }

  static func percentile(_ share: Double, of values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]
  }
}

@Suite("Overload, simulated", .ownThread)
struct OverloadTests {
  @Test("At ten times the capacity AIMD keeps at least 80 % of it, compared with less than 20 % without")
  func aimd() {
    let without = Double(Overload.run(nil).goodput.reduce(0, +)) / Overload.capacity / Double(Overload.seconds)
    #expect(without < 0.2)
    for algorithm in [ConcurrencyAlgorithm.aimd(), .aimd(initial: 200), .aimd(initial: 1)] {
      let with = Double(Overload.run(algorithm).goodput.reduce(0, +)) / Overload.capacity / Double(Overload.seconds)
      #expect(with >= 0.8, "\(algorithm): \(with)")
    }
  }
}
