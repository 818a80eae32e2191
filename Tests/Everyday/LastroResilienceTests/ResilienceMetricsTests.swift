// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroObservability
import LastroTesting
import MetricsTestKit
import Testing

@testable import LastroResilience

@Suite("Resilience in metrics", .timeLimit(.minutes(15)))
struct ResilienceMetricsTests {
  private static let base = [
    ("http.request.method", "GET"), ("server.address", "api.example.org"), ("server.port", "443"),
    ("url.scheme", "https"), ("lastro.operation", "getThing"),
  ]

  @Test("Refusals, waits, circuit changes and limits are measured, under names with few values")
  func all() async throws {
    let metrics = TestMetrics()
    let clock = ManualClock(autoAdvance: true)
    let breaker = CircuitBreaker(
      policy: CircuitBreakerPolicy(minimumCalls: 2), time: clock.timeSource, random: .seeded(1))
    let pacer = Pacer(
      PacingPolicy(pace: try .init(perSecond: 4, burst: 1)), time: clock.timeSource, random: .seeded(1))
    let limiter = try ConcurrencyLimiter(limit: 9, key: { _ in "tenant" }, time: clock.timeSource)
    var configuration = StackConfiguration()
    configuration.timeSource = clock.timeSource
    configuration.observers = [.metrics(factory: metrics)]
    configuration.resilience = Resilience(pacer: pacer, limiter: limiter, breaker: breaker)
    let stack = TransportNetworkStack(
      transport: ScriptedTransport(repeatingLast: .respond(status: 500)), configuration: configuration)
    var options = RequestOptions()
    options.operation = "getThing"
    let request = try ResourceRequest(url: "https://api.example.org/")
    for _ in 0..<3 {
      await #expect(throws: (any Error).self) {
        _ = try await stack.fetch(RawHTTPResource.raw(request, options: options))
      }
    }
    let waits = metrics.recorders(
      label: "lastro.client.wait.duration", dimensions: Self.base + [("lastro.wait", "paced")])
    #expect(waits.flatMap(\.values) == [0.25, 0.25])
    #expect(metrics.recorders(label: "lastro.client.wait.duration").count == 1)
    func counts(_ label: String) -> [[String]] {
      metrics.counters.filter { $0.label == label }.map { counter in
        counter.dimensions.suffix(1).map { "\($0.0)=\($0.1)" } + ["\(counter.totalValue)"]
      }
    }
    #expect(counts("lastro.client.refusals") == [["error.type=policy/circuit_open", "1"]])
    #expect(counts("lastro.client.circuit.changes") == [["lastro.circuit.state=open", "1"]])
    let server = Array(Self.base[1...3]) + [("lastro.limiter.part", "tenant")]
    let limits = metrics.recorders(label: "lastro.client.limiter.limit", dimensions: server)
    #expect(limits.flatMap(\.values) == [9, 9] && limits.allSatisfy { !$0.aggregate })
    #expect(metrics.recorders(label: "lastro.client.limiter.in_use", dimensions: server).flatMap(\.values) == [0, 0])
  }
}
