// SPDX-License-Identifier: Apache-2.0

import Lastro
import Testing

@testable import LastroResilience

/// A server that answers in 20 ms as a rule, and takes a second for one request in a hundred.
enum SlowPeer {
  static let rate = 200.0
  static let seconds = 120

  static func settings() throws -> [(name: String, policy: HedgingPolicy?)] {
    [
      ("none", nil),
      ("Polly, as .NET has it: after 2 s", try HedgingPolicy(delay: .fixed(.seconds(2)), budgetRatio: 1)),
      ("Lastro: after the 95th percentile, 5 %", .standard),
    ]
  }

  struct Result {
    var outcome: Outcome
    var calls = 0
    var requests = 0

    /// Requests that were sent beyond the calls, as a share of them.
    var extra: Double { Double(requests - calls) / Double(calls) }
  }

  static func run(_ policy: HedgingPolicy?) -> Result {
    let simulator = Simulator(seed: 5)
    var result = Result(outcome: Outcome(seconds: seconds))
    var machine = policy.map(HedgingMachine.init)
    let server = SimulatedServer(simulator, workers: 10_000) {
      simulator.random.unit() < 0.01 ? 1 : simulator.exponential(0.02)
    }
    func call() {
      simulator.after(simulator.exponential(1 / rate)) { call() }
      result.calls += 1
      let start = simulator.now
      var plan = HedgePlan(additional: policy?.additional ?? 0)
      let delay = machine?.begin(now: simulator.time, left: nil)
      func send(_ number: Int) {
        result.requests += 1
        server.receive { _ in
          if number == 0 {
            machine?.firstTryEnded(after: .microseconds(Int((simulator.now - start) * 1e6)), now: simulator.time)
          }
          if case .answer = plan.ended(number, .acceptable, asksForPatience: false, pay: { false }) {
            result.outcome.good(at: simulator.now, latency: simulator.now - start)
          }
        }
        guard let delay, plan.awaitsDelay else { return }
        simulator.after(delay.inSeconds) {
          if case .send(let next) = plan.delayPassed(pay: { machine?.pay() ?? false }) { send(next) }
        }
      }
      send(0)
    }
    call()
    simulator.run(until: Double(seconds))
    result.outcome.load = server.load
    return result
  }
}

@Suite("Slow peer, simulated")
struct SlowPeerTests {
  @Test("one request in a hundred takes a second: hedging brings p99 under 100 ms for at most 6 % more requests")
  func hedging() {
    let without = SlowPeer.run(nil)
    #expect(without.outcome.percentile(0.99) > 0.1)
    let with = SlowPeer.run(.standard)
    #expect(with.outcome.percentile(0.99) < 0.1)
    #expect(with.extra <= 0.06)
  }
}
