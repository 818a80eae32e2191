// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSimulation
import LastroTesting
import Testing

@testable import LastroResilience

/// A server that serves 20 calls a second, and 64 clients that each make a call about every four seconds. The server is
/// down for ten seconds. From the start of the outage until ten seconds after its end, the network loses half of what it
/// carries, so that about a quarter of the attempts take too long.
enum RetryStorm {
  static let clients = 64
  static let workers = 2
  static let service = Duration.milliseconds(100)
  static let capacity = 20.0
  static let think = 4.0
  static let timeout = Duration.seconds(1)
  static let down = 20..<30
  static let lossy = 20..<40
  static let seconds = 70
  /// The seconds in which a storm should be over.
  static let last = 50..<70

  /// A way in which a client retries.
  struct Setting: Sendable {
    var name: String
    var retry: HTTPRetryPolicy
    var breaker: CircuitBreakerPolicy?
    /// Whether retries are paid for with the tokens of a `RetryQuota`.
    var hasQuota = false
  }

  static let settings = [
    Setting(name: "none: 10 retries, at once", retry: .maxRetries(10)),
    Setting(
      name: "Polly in .NET: 3 retries, 2 s exponential; breaker 10 % of 100",
      retry: .backoff(
        .exponential(
          baseDelay: .seconds(2),
          scale: { base, number in Retry.Backoff.doubling(base, number) * (0.5 + RandomSource.system.unit()) },
          until: .maxRetries(3))),
      breaker: CircuitBreakerPolicy(
        minimumCalls: 100, failureRatio: 0.1, consecutiveFailures: nil, breakDuration: .seconds(5),
        maximumBreakDuration: .seconds(5), probes: 1)
    ),
    Setting(
      name: "resilience4j: 2 retries after 500 ms; breaker 50 % of the last 100",
      retry: .backoff(.constant(delay: .milliseconds(500), until: .maxRetries(2))),
      breaker: CircuitBreakerPolicy(
        window: .calls(100), minimumCalls: 100, consecutiveFailures: nil, breakDuration: .seconds(60),
        maximumBreakDuration: .seconds(60), probes: 10)),
    Setting(
      name: "Lastro: 2 retries, full jitter, quota; standard breaker", retry: .standard, breaker: .standard,
      hasQuota: true),
  ]

  struct Result {
    var setting: Setting
    var outcome: Outcome

    /// The highest load in one second after the server's return, as a multiple of its capacity.
    var spike: Double { Double(outcome.load.dropFirst(down.upperBound).max() ?? 0) / capacity }
    /// The successes per second at the end.
    var goodput: Double { outcome.share(of: 1, in: last) }
  }

  /// The results of the settings, for the tests and for the page.
  static let results: Task<[Result], any Error> = Task {
    var results: [Result] = []
    for setting in settings { results.append(try await run(setting)) }
    return results
  }

  private static func run(_ setting: Setting) async throws -> Result {
    let simulation = Simulation { world in
      try world.server("https://api.example", workers: workers) { _ in
        try await Task.sleep(for: service)
        return .text("")
      }
      // One machine with a stack for each client, whose connections are its own.
      world.machine("clients") { machine in
        await withDiscardingTaskGroup { group in
          for _ in 0..<clients {
            var configuration = StackConfiguration(interceptors: [.retry(setting.retry)])
            configuration.timeouts.attempt = timeout
            configuration.retryQuota = setting.hasQuota ? .standard() : nil
            configuration.resilience = Resilience(breaker: setting.breaker.map { CircuitBreaker(policy: $0) })
            let stack = machine.stack(configuration)
            group.addTask {
              await Arrivals.run(on: machine, rate: 1 / think, seconds: Double(seconds)) { _ in
                _ = try? await stack.fetch(.text("https://api.example/"))
              }
            }
          }
        }
      }
    }
    let outage = SimulatedFault.crash(
      "api.example", at: .seconds(down.lowerBound), restartAfter: .seconds(down.count))
    let loss = SimulatedFault.slowLink(
      "clients", "api.example", LinkConditions(loss: 0.5), at: .seconds(lossy.lowerBound), for: .seconds(lossy.count))
    let trace = try await simulation.run(seed: 11, faults: .exactly([outage, loss]))
    return Result(setting: setting, outcome: Outcome(trace, seconds: seconds))
  }
}

@Suite("Retry storm, simulated", .timeLimit(.minutes(30)))
struct RetryStormSimulationTests {
  @Test("Clients return without a spike of over twice the capacity, and all are served")
  func recovery() async throws {
    let results = try await RetryStorm.results.value
    let (without, with) = (try #require(results.first), try #require(results.last))
    #expect(with.spike <= 2)
    #expect(with.goodput > 0.9 * Double(RetryStorm.clients) / RetryStorm.think)
    // Without protection, the storm sustains itself. The server works for clients that have given up.
    #expect(without.spike > 2)
    #expect(without.goodput < 0.3 * RetryStorm.capacity)
  }
}
