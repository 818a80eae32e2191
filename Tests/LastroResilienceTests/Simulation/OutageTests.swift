// SPDX-License-Identifier: Apache-2.0

import Lastro
import Testing

@testable import LastroResilience

/// A client that calls 50 times a second, and a server that is down for a minute.
enum Outage {
  static let rate = 50.0
  static let down = 30.0..<90.0
  static let seconds = 150

  struct Setting {
    var name: String
    var policy: CircuitBreakerPolicy?
  }

  static func settings() throws -> [Setting] {
    [
      Setting(name: "none"),
      Setting(
        name: "Polly 8: 10 % of 100 in 30 s, 5 s, 1 probe",
        policy: try CircuitBreakerPolicy(
          minimumCalls: 100, failureRatio: 0.1, breakDuration: .seconds(5), maximumBreakDuration: .seconds(5), probes: 1
        )
      ),
      Setting(
        name: "resilience4j: 50 % of the last 100, 60 s, 10 probes",
        policy: try CircuitBreakerPolicy(
          window: .calls(100), minimumCalls: 100, failureRatio: 0.5, breakDuration: .seconds(60),
          maximumBreakDuration: .seconds(60), probes: 10)),
      Setting(name: "Lastro: 50 % of 20 in 30 s, 5 s to 60 s, 3 probes", policy: .standard),
    ]
  }

  struct Result {
    var outcome: Outcome
    /// Requests that were sent while the server was down.
    var wasted = 0
    /// Of those, the ones after the circuit had opened for the first time.
    var wastedOpen = 0
    var breaks = 0
    /// Seconds from the server's return to the first success.
    var recovery = Double.infinity
  }

  static func run(_ policy: CircuitBreakerPolicy?) -> Result {
    let simulator = Simulator(seed: 3)
    let server = SimulatedServer(simulator, workers: 50) { simulator.exponential(0.05) }
    var circuit = policy.map(CircuitMachine.init)
    var result = Result(outcome: Outcome(seconds: seconds))
    func arrive() {
      simulator.after(simulator.exponential(1 / rate)) { arrive() }
      let start = simulator.now
      var generation: UInt64?
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
        result.outcome.good(at: simulator.now, latency: simulator.now - start)
        if start >= down.upperBound { result.recovery = min(result.recovery, simulator.now - down.upperBound) }
      }
    }
    arrive()
    simulator.after(down.lowerBound) { server.isDown = true }
    simulator.after(down.upperBound) { server.isDown = false }
    simulator.run(until: Double(seconds))
    result.outcome.load = server.load
    return result
  }
}

@Suite("Outage, simulated")
struct OutageTests {
  @Test("a minute: once the circuit is open, no more than its probes are sent in each break")
  func probes() throws {
    let without = Outage.run(nil)
    #expect(without.wasted > 2_500)
    let with = Outage.run(.standard)
    #expect(with.breaks >= 3)
    #expect(with.wastedOpen <= with.breaks * CircuitBreakerPolicy.standard.probes)
    // Half of the window has to fail before it opens.
    #expect(with.wasted < without.wasted / 3)
    #expect(with.recovery < 60)
  }
}
