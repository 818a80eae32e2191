// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroResilience

/// A client that makes 50 calls a second, and a server that is down for 30 s to 87 s.
///
/// There are twenty lengths, because the time until a client recovers depends on the time within a break at which the
/// server returns.
enum Outage {
  static let rate = 50.0
  static let start = 30.0
  static let lengths = (0..<20).map { 30 + 3 * Double($0) }
  /// The length of the outage that is plotted.
  static let drawn = 60.0
  static let seconds = 200

  struct Setting {
    var name: String
    var policy: CircuitBreakerPolicy?
  }

  static func settings() throws -> [Setting] {
    [
      Setting(name: "none"),
      Setting(
        name: "Polly 8: 10 % of 100 in 30 s, 5 s, 1 probe",
        policy: CircuitBreakerPolicy(
          minimumCalls: 100, failureRatio: 0.1, consecutiveFailures: nil, breakDuration: .seconds(5),
          maximumBreakDuration: .seconds(5), probes: 1)
      ),
      Setting(
        name: "resilience4j: 50 % of the last 100, 60 s, 10 probes",
        policy: CircuitBreakerPolicy(
          window: .calls(100), minimumCalls: 100, failureRatio: 0.5, consecutiveFailures: nil,
          breakDuration: .seconds(60), maximumBreakDuration: .seconds(60), probes: 10)),
      Setting(name: "Lastro: 50 % of 20 in 30 s, or 20 in a row, 5 s to 60 s, 3 probes", policy: .standard),
    ]
  }

  struct Result {
    var outcome: Outcome
    /// The number of requests that were sent while the server was down.
    var wasted = 0
    /// The number of wasted requests that were sent after the circuit had opened for the first time.
    var wastedOpen = 0
    var breaks = 0
    /// The seconds from the server's return to the first success.
    var recovery = Double.infinity
  }

  /// A summary of the outages: means, and the longest recovery.
  struct Summary {
    var wasted = 0.0
    var wastedOpen = 0.0
    var breaks = 0.0
    var recovery = 0.0
    var longestRecovery = 0.0
  }

  static func runAll(_ policy: CircuitBreakerPolicy?) -> Summary {
    var summary = Summary()
    let count = Double(lengths.count)
    for length in lengths {
      let result = run(policy, length: length)
      summary.wasted += Double(result.wasted) / count
      summary.wastedOpen += Double(result.wastedOpen) / count
      summary.breaks += Double(result.breaks) / count
      summary.recovery += result.recovery / count
      summary.longestRecovery = max(summary.longestRecovery, result.recovery)
    }
    return summary
  }

  /// The summary of each setting, for the tests and for the page.
  static let summaries = Swift.Result { try settings().map { (setting: $0, summary: runAll($0.policy)) } }

  static func run(_ policy: CircuitBreakerPolicy?, length: Double = drawn) -> Result {
    let end = start + length
    let simulator = Simulator(seed: UInt64(length))
    let server = SimulatedServer(simulator, workers: 50) { simulator.exponential(0.05) }
    var circuit = policy.map(CircuitMachine.init)
    var result = Result(outcome: Outcome(seconds: seconds))
    func arrive() {
      simulator.after(simulator.exponential(1 / rate)) { arrive() }
      let began = simulator.now
      var generation: UInt64 = 0
      if circuit != nil {
        guard case .admitted(let admitted)? = circuit?.ask(now: simulator.time) else { return }
        generation = admitted
      }
      if server.isDown {
        result.wasted += 1
        if result.breaks > 0 { result.wastedOpen += 1 }
      }
      server.receive { isGood in
        let before = circuit?.generation
        circuit?.end(
          generation, isGood ? .success : .failure, duration: .zero, now: simulator.time,
          unit: simulator.random.unit())
        if case .open = circuit?.phase, before != circuit?.generation { result.breaks += 1 }
        guard isGood else { return }
        result.outcome.good(at: simulator.now, latency: simulator.now - began)
        if began >= end { result.recovery = min(result.recovery, simulator.now - end) }
      }
    }
    arrive()
    simulator.after(start) { server.isDown = true }
    simulator.after(end) { server.isDown = false }
    simulator.run(until: Double(seconds))
    result.outcome.load = server.load
    return result
  }
}

@Suite("Outage, simulated", .ownThread, .timeLimit(.minutes(5)))
struct OutageTests {
  @Test("With an open circuit only its probes are sent in each break, and recovery is noticed within a break")
  func probes() throws {
    let without = Outage.run(nil)
    #expect(without.wasted > 2_500)
    let with = Outage.run(.standard)
    #expect(with.breaks >= 3)
    #expect(with.wastedOpen <= with.breaks * CircuitBreakerPolicy.standard.probes)
    // The circuit opens after twenty failures in a row that span at least a second.
    #expect(with.wasted - with.wastedOpen < 2 * Int(Outage.rate))
    #expect(with.recovery < 6)
  }

  @Test("It sends no more to a dead server than Polly's breaker, recovers no later, and sooner than resilience4j's")
  func comparison() throws {
    let summaries = try Outage.summaries.get().map(\.summary)
    let (polly, resilience4j, own) = (summaries[1], summaries[2], summaries[3])
    #expect(own.wasted <= polly.wasted && own.recovery <= polly.recovery)
    #expect(own.recovery <= resilience4j.recovery && own.longestRecovery < resilience4j.longestRecovery)
  }
}
