// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroResilience

/// A server that serves 300 calls a second, and 1,000 clients that each make a call about every four seconds. The
/// server is down for twenty seconds. From the start of the outage until twenty seconds after its end, the link loses
/// half of the requests.
enum RetryStorm {
  static let clients = 1_000
  static let capacity = 300.0
  static let think = 4.0
  static let timeout = 1.0
  static let down = 20.0..<40.0
  static let lossy = 20.0..<60.0
  static let seconds = 100

  /// A way in which a client retries.
  struct Setting {
    var name: String
    /// The maximum number of further attempts.
    var retries: Int
    /// The delay before a retry, by its number from 1 and a random number.
    var delay: (_ number: Int, _ unit: Double) -> Double
    var breaker: CircuitBreakerPolicy?
    /// Whether retries are paid for with 500 tokens at 14 each, as with `RetryQuota`.
    var hasQuota = false
  }

  static func settings() throws -> [Setting] {
    [
      Setting(name: "none: 10 retries, at once", retries: 10, delay: { _, _ in 0 }),
      Setting(
        name: "Polly in .NET: 3 retries, 2 s exponential; breaker 10 % of 100", retries: 3,
        delay: { number, unit in Double(2 << (number - 1)) * (0.5 + unit) },
        breaker: CircuitBreakerPolicy(
          minimumCalls: 100, failureRatio: 0.1, consecutiveFailures: nil, breakDuration: .seconds(5),
          maximumBreakDuration: .seconds(5), probes: 1)
      ),
      Setting(
        name: "resilience4j: 2 retries after 500 ms; breaker 50 % of the last 100", retries: 2, delay: { _, _ in 0.5 },
        breaker: CircuitBreakerPolicy(
          window: .calls(100), minimumCalls: 100, consecutiveFailures: nil, breakDuration: .seconds(60),
          maximumBreakDuration: .seconds(60), probes: 10)),
      Setting(
        name: "Lastro: 2 retries, full jitter, quota; standard breaker", retries: 2,
        delay: { number, unit in 0.05 * Double(1 << (number - 1)) * unit }, breaker: .standard, hasQuota: true),
    ]
  }

  struct Result {
    var outcome: Outcome
    /// The highest load in one second after the server's return, as a multiple of its capacity.
    var spike = 0.0
    /// The successes per second in the last 20 s.
    var goodput = 0.0
  }

  private final class Client {
    var circuit: CircuitMachine?
    var tokens = 500

    init(_ setting: Setting) { circuit = setting.breaker.map(CircuitMachine.init) }
  }

  static func run(_ setting: Setting) -> Result {
    let simulator = Simulator(seed: 11)
    let server = SimulatedServer(simulator, workers: 15) { simulator.exponential(0.05) }
    var result = Result(outcome: Outcome(seconds: seconds))
    func attempt(_ client: Client, _ number: Int, since start: Double) {
      var generation: UInt64 = 0
      if client.circuit != nil {
        guard case .admitted(let admitted)? = client.circuit?.ask(now: simulator.time) else { return }
        generation = admitted
      }
      var isOver = false
      func end(_ isGood: Bool) {
        guard !isOver else { return }
        isOver = true
        client.circuit?.end(
          generation, isGood ? .success : .failure, duration: .zero, now: simulator.time,
          unit: simulator.random.unit())
        if isGood {
          if setting.hasQuota { client.tokens = min(500, client.tokens + (number > 0 ? 14 : 1)) }
          result.outcome.good(at: simulator.now, latency: simulator.now - start)
          return
        }
        guard number < setting.retries, !setting.hasQuota || client.tokens >= 14 else { return }
        if setting.hasQuota { client.tokens -= 14 }
        simulator.after(setting.delay(number + 1, simulator.random.unit())) {
          attempt(client, number + 1, since: start)
        }
      }
      simulator.after(timeout) { end(false) }
      if !lossy.contains(simulator.now) || simulator.random.unit() < 0.5 { server.receive { end($0) } }
    }
    for _ in 0..<clients {
      let client = Client(setting)
      func call() {
        simulator.after(simulator.exponential(think)) {
          call()
          attempt(client, 0, since: simulator.now)
        }
      }
      call()
    }
    simulator.after(down.lowerBound) { server.isDown = true }
    simulator.after(down.upperBound) { server.isDown = false }
    simulator.run(until: Double(seconds))
    result.outcome.load = server.load
    result.spike = Double(server.load.dropFirst(Int(down.upperBound)).max() ?? 0) / capacity
    result.goodput = Double(result.outcome.goodput[80..<seconds].reduce(0, +)) / Double(seconds - 80)
    return result
  }
}

@Suite("Retry storm, simulated", .ownThread)
struct RetryStormTests {
  @Test("A thousand clients return without a spike of over twice the capacity, and all are served")
  func recovery() throws {
    let settings = try RetryStorm.settings()
    let with = RetryStorm.run(try #require(settings.last))
    #expect(with.spike <= 2)
    #expect(with.goodput > 0.9 * Double(RetryStorm.clients) / RetryStorm.think)
    // Without protection, the storm sustains itself. The server works for clients that have given up.
    let without = RetryStorm.run(try #require(settings.first))
    #expect(without.spike > 2)
    #expect(without.goodput < 0.3 * RetryStorm.capacity)
  }
}
