// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSimulation
import LastroSupport
import LastroTesting
import Testing

@testable import LastroResilience

/// A client that makes 10 calls a second, and a server that is down for 30 s to 75 s.
///
/// There are several lengths, because the time until a client recovers depends on the time within a break at which the
/// server returns.
enum Outage {
  static let rate = 10.0
  static let start = 30.0
  static let lengths: [Double] = [30, 45, 60, 75]
  /// The length of the outage that is plotted.
  static let drawn = 60.0
  /// The number of seconds that are plotted.
  static let seconds = 150

  struct Setting {
    var name: String
    var policy: CircuitBreakerPolicy?
  }

  static let settings = [
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

  struct Result {
    /// The number of connections that were tried in each second while the server was down, and of requests that it
    /// received while it was not.
    var load = Array(repeating: 0, count: Outage.seconds)
    /// The number of calls that were sent while the server was down.
    var wasted = 0
    /// The number of wasted calls that were sent after the circuit had opened for the first time.
    var wastedOpen = 0
    var breaks = 0
    /// The seconds from the server's return to the first success.
    var recovery = Double.infinity

    init(_ trace: SimulationTrace, length: Double) {
      var wasRefused = false
      for call in trace.calls {
        let begin = call.start.inSeconds, isRefused = call.failure?.hasPrefix("policy/circuit_open") ?? false
        defer { wasRefused = isRefused }
        if isRefused {
          if !wasRefused { breaks += 1 }
          continue
        }
        if Int(begin) < load.count { load[Int(begin)] += 1 }
        if begin >= start, begin < start + length {
          wasted += 1
          if breaks > 0 { wastedOpen += 1 }
        } else if call.hasSucceeded, begin >= start + length {
          recovery = min(recovery, begin - start - length)
        }
      }
    }
  }

  /// A summary of the outages: means, and the longest recovery.
  struct Summary {
    var setting: Setting
    var wasted = 0.0
    var wastedOpen = 0.0
    var breaks = 0.0
    var recovery = 0.0
    var longestRecovery = 0.0
    /// The result of the outage that is plotted.
    var drawn: Result?

    init(_ setting: Setting) { self.setting = setting }

    mutating func add(_ result: Result) {
      let count = Double(lengths.count)
      wasted += Double(result.wasted) / count
      wastedOpen += Double(result.wastedOpen) / count
      breaks += Double(result.breaks) / count
      recovery += result.recovery / count
      longestRecovery = max(longestRecovery, result.recovery)
    }
  }

  /// The summary of each setting, for the tests and for the page.
  static let summaries: Task<[Summary], any Error> = Task {
    var summaries: [Summary] = []
    for setting in settings {
      var summary = Summary(setting)
      for length in lengths {
        let result = try await run(setting.policy, length: length)
        summary.add(result)
        if length == drawn { summary.drawn = result }
      }
      summaries.append(summary)
    }
    return summaries
  }

  static func run(_ policy: CircuitBreakerPolicy?, length: Double) async throws -> Result {
    let simulation = Simulation { world in
      let random = RandomSource.seeded(world.seed)
      try world.server("https://api.example", workers: 50) { _ in
        try await Task.sleep(for: random.exponential(0.05))
        return .text("")
      }
      world.machine("client") { machine in
        var configuration = StackConfiguration()
        configuration.resilience = Resilience(breaker: policy.map { CircuitBreaker(policy: $0) })
        let stack = machine.stack(configuration)
        let returns = ContinuousClock.now + .seconds(start + length)
        // A few seconds after the recovery there is nothing more to see.
        let lastCall = Lock(returns + .seconds(70))
        await Arrivals.run(
          on: machine, rate: rate, seconds: 200,
          isOver: { ContinuousClock.now > lastCall.withLock { $0 } }
        ) { _ in
          guard (try? await stack.fetch(.text("https://api.example/"))) != nil else { return }
          let now = ContinuousClock.now
          if now > returns { lastCall.withLock { $0 = min($0, now + .seconds(10)) } }
        }
      }
    }
    let outage = SimulatedFault.crash("api.example", at: .seconds(start), restartAfter: .seconds(length))
    return Result(try await simulation.run(seed: UInt64(length), faults: .exactly([outage])), length: length)
  }
}

@Suite("Outage, simulated", .timeLimit(.minutes(30)))
struct OutageSimulationTests {
  @Test("With an open circuit only its probes are sent in each break, and recovery is noticed within a break")
  func probes() async throws {
    let results = try await Outage.summaries.value.map(\.drawn)
    let (without, with) = (try #require(results.first ?? nil), try #require(results.last ?? nil))
    // All calls of the outage, but for the variation of random arrivals.
    #expect(Double(without.wasted) > 0.8 * Outage.rate * Outage.drawn)
    #expect(with.breaks >= 3)
    #expect(with.wastedOpen <= with.breaks * CircuitBreakerPolicy.standard.probes)
    // The circuit opens after twenty failures in a row that span at least a second.
    #expect(with.wasted - with.wastedOpen < 2 * 20)
    #expect(with.recovery < 6)
  }

  @Test(
    "It sends no more to a dead server than Polly's breaker, recovers within a break, and sooner than resilience4j's")
  func comparison() async throws {
    let summaries = try await Outage.summaries.value
    let (polly, resilience4j, own) = (summaries[1], summaries[2], summaries[3])
    #expect(own.wasted <= polly.wasted)
    // A break of 5 s with its jitter, and the time until the next call: Polly's circuit has no shorter one.
    #expect(own.longestRecovery < 6 && polly.longestRecovery < 6)
    #expect(own.recovery <= resilience4j.recovery && own.longestRecovery < resilience4j.longestRecovery)
  }
}
