// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import TestSupport
import Testing

@testable import LastroResilience

/// What is said of configurations that cannot work, and of what was not sent, as `ResilienceErrorTexts.txt` beside this
/// file has it.
@Suite("Error texts of resilience")
struct ResilienceErrorTextsTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "ResilienceErrorTexts.txt")

  @Test("are those of the file; LASTRO_RENEW=1 writes it anew")
  func golden() throws {
    let made = (try Self.configurations() + Self.refusals() + Self.reasons()).map { $0 + "\n" }.joined()
    try expectGolden(made, keptIn: Self.file)
  }

  private static func configurations() throws -> [String] {
    let endpoint = try Endpoint("https://a.example.org")
    let attempts: [() throws -> Void] = [
      { _ = try CircuitBreakerPolicy(minimumCalls: 1) }, { _ = try CircuitBreakerPolicy(window: .calls(10)) },
      { _ = try CircuitBreakerPolicy(failureRatio: 0) },
      { _ = try CircuitBreakerPolicy(window: .time(.zero)) }, { _ = try CircuitBreakerPolicy(window: .calls(100_001)) },
      { _ = try CircuitBreakerPolicy(breakDuration: .seconds(2_000_000_000)) },
      { _ = try ConcurrencyLimiter(.fixed(0)) }, { _ = try ConcurrencyLimiter(.fixed(.max)) },
      { _ = try ConcurrencyLimiter(.aimd(range: 1...Int.max)) }, { _ = try ConcurrencyLimiter(.aimd(backoff: 1)) },
      { _ = try ConcurrencyLimiter(.gradient(initial: 500)) }, { _ = try HedgingPolicy(additional: 5) },
      { _ = try HedgingPolicy(delay: .percentile(0.9, fallback: .zero)) },
      { _ = try PacingPolicy.Pace(perSecond: 0) }, { _ = try PacingPolicy.Pace(perSecond: 1, burst: 2_000_000) },
      { _ = try Endpoint("https://a.example.org", weight: 0) }, { _ = try Endpoint("ftp://a.example.org") },
      { _ = try EndpointSet([]) }, { _ = try EndpointSet(Array(repeating: endpoint, count: 1_001)) },
      { _ = try EgressRange("localhost") }, { _ = try EgressRange("10.0.0.0/33") },
      { _ = try EgressRange("10.0.0.0", ports: 0...70_000) },
    ]
    return attempts.compactMap { attempt in
      do { try attempt() } catch { return "ConfigurationError | \(error)" }
      return nil
    }
  }

  private static func refusals() throws -> [String] {
    let key = ResilienceKey(try Origin("https://api.example.org"), part: "search")
    let errors: [TransportError] = [
      .circuitOpen(key, .seconds(4)), .concurrencyLimited(key, inUse: 20, waiting: 100),
      .rateLimited(key, .seconds(30), limit: .seconds(10)), .rateLimited(key, .seconds(30), limit: nil),
      .deadlinePassed(.attemptTimeout, of: .seconds(10), "while waiting for its turn", requestSent: false),
    ]
    return errors.map { "TransportError | \($0)" }
  }

  private static func reasons() throws -> [String] {
    var policy = EgressPolicy.publicInternet
    policy.denying = [try EgressRange("1.1.1.1")]
    policy.ports = [443]
    let reasons = try [("1.1.1.1", 443), ("8.8.8.8", 25)].map { "\(try policy.verdict(on: $0.0, port: $0.1))" }
    return reasons.map { "EgressVerdict | \($0)" }
  }
}
