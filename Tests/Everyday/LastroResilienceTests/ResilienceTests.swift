// SPDX-License-Identifier: Apache-2.0

import Lastro
import Testing

@testable import LastroResilience

@Suite("Parts of resilience")
struct ResilienceTests {
  @Test("Without options, each part applies its standard policy")
  func defaults() throws {
    #expect(CircuitBreaker().policy == CircuitBreakerPolicy.standard)
    #expect(try Hedger().policy == HedgingPolicy.standard)
    #expect(try Pacer().policy == PacingPolicy())
    let standard = Resilience.standard()
    #expect(standard.breaker?.policy == CircuitBreakerPolicy.standard)
    #expect(standard.pacer?.policy == PacingPolicy())
  }

  @Test("A circuit breaker follows each of its options")
  func breaker() throws {
    let policy = try CircuitBreaker(
      window: .calls(50), minimumCalls: 4, failureRatio: 0.25, consecutiveFailures: nil, slowCallDuration: .seconds(1),
      slowCallRatio: 0.75, breakDuration: .seconds(2), maximumBreakDuration: .seconds(9), probes: 1
    ).policy
    #expect(policy.window == .calls(50))
    #expect(policy.minimumCalls == 4)
    #expect(policy.failureRatio == 0.25)
    #expect(policy.consecutiveFailures == nil)
    #expect(policy.slowCallDuration == .seconds(1))
    #expect(policy.slowCallRatio == 0.75)
    #expect(policy.breakDuration == .seconds(2))
    #expect(policy.maximumBreakDuration == .seconds(9))
    #expect(policy.probes == 1)
  }

  @Test("A hedger follows each of its options")
  func hedger() throws {
    let policy = try Hedger(
      additional: 2, delay: .fixed(.milliseconds(30)), budgetRatio: 0.25, budgetBurst: 3
    ).policy
    #expect(policy.additional == 2)
    #expect(policy.delay == .fixed(.milliseconds(30)))
    #expect(policy.budgetRatio == 0.25)
    #expect(policy.budgetBurst == 3)
  }

  @Test("A limiter has a fixed limit, or one that follows dropped attempts or the latency")
  func limiter() throws {
    #expect(try ConcurrencyLimiter().algorithm == .aimd(initial: 20, range: 1...200, backoff: 0.9))
    #expect(try ConcurrencyLimiter(limit: 8).algorithm == .fixed(8))
    #expect(
      try ConcurrencyLimiter(initial: 4, range: 2...9, backoff: 0.5).algorithm
        == .aimd(initial: 4, range: 2...9, backoff: 0.5))
    #expect(
      try ConcurrencyLimiter(initial: 4, range: 2...9, followsLatency: true).algorithm
        == .gradient(initial: 4, range: 2...9))
    #expect(try ConcurrencyLimiter(followsLatency: true).algorithm == .gradient(initial: 20, range: 20...200))
    #expect(throws: ConfigurationError.self) { try ConcurrencyLimiter(initial: 4, followsLatency: true) }
  }

  @Test("A pacer follows each of its options")
  func pacer() throws {
    let policy = try Pacer(
      perSecond: 2, burst: 3, readsRateLimitFields: false, sharesRetryAfter: false, maximumWait: .seconds(7)
    ).policy
    #expect(try policy.pace == Pacer.Pace(perSecond: 2, burst: 3))
    #expect(!policy.readsRateLimitFields)
    #expect(!policy.sharesRetryAfter)
    #expect(policy.maximumWait == .seconds(7))
    #expect(try Pacer(maximumWait: .seconds(-1)).policy.maximumWait == .zero)
  }
}
