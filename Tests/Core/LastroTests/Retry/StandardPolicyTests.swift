// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("The standard policy", .timeLimit(.minutes(15)))
struct StandardPolicyTests {
  static func metadata(_ status: Int, retryAfter: String? = nil) -> HTTPRetryMetadata {
    var head = HTTPResponse(status: .init(code: status))
    head.headerFields[.retryAfter] = retryAfter
    return (nil, nil, ResourceResponse(head: head, url: "https://example.com/"))
  }

  static func delays(_ policy: HTTPRetryPolicy, _ metadata: HTTPRetryMetadata = (nil, nil, nil)) -> [Retry.Delay] {
    var state = Retry.State.empty
    var delays: [Retry.Delay] = []
    while delays.count < 100,
      case .retryAfter(let delay) = policy.shouldRetry(
        with: TestError(), state: state, metadata: metadata)
    {
      delays.append(delay)
      state.errors.append(TestError())
      state.totalDelay += delay
    }
    guard
      case .noRetry(.retries(delays.count)) = policy.shouldRetry(with: TestError(), state: state, metadata: metadata)
    else {
      Issue.record("the call does not end with its number of retries")
      return delays
    }
    return delays
  }

  @Test("Each delay is its random number times the doubled base, capped before the draw")
  func schedule() throws {
    let policy = try HTTPRetryPolicy.standard(attempts: 12, random: .seeded(7))
    let draws = RandomSource.seeded(7)
    let bases = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 20, 20]
    #expect(Self.delays(policy) == bases.map { .seconds($0) * draws.unit() })
    let throttled = try HTTPRetryPolicy.standard(attempts: 7, random: .seeded(8))
    let more = RandomSource.seeded(8)
    #expect(Self.delays(throttled, Self.metadata(429)) == [1.0, 2, 4, 8, 16, 20].map { .seconds($0) * more.unit() })
  }

  @Test("The longer base applies after 429, and after 503 with a time")
  func bases() throws {
    let top = RandomSource { .max }
    for (status, field, base) in [
      (429, nil, Duration.seconds(1)), (429, "1", .seconds(1)), (503, "1", .seconds(1)), (503, nil, .milliseconds(50)),
      (500, "1", .milliseconds(50)), (502, nil, .milliseconds(50)),
    ] {
      let policy = try HTTPRetryPolicy.standard(attempts: 2, random: top)
      let delay = try #require(Self.delays(policy, Self.metadata(status, retryAfter: field)).first)
      #expect(delay < base && delay > base * 0.999_999)
    }
  }

  @Test("Three attempts include the first, and one attempt means no retry")
  func attempts() throws {
    #expect(Self.delays(.standard).count == 2)
    #expect(try Self.delays(.standard(attempts: 1)).isEmpty)
    #expect(throws: ConfigurationError.self) { try HTTPRetryPolicy.standard(attempts: 0) }
    #expect(throws: ConfigurationError.self) { try HTTPRetryPolicy.standard(attempts: .min) }
    for bad in [Duration.milliseconds(-1), Retry.seconds(-.infinity), .nanoseconds(-1)] {
      #expect(throws: ConfigurationError.self) { try HTTPRetryPolicy.standard(attempts: 2, baseDelay: bad) }
      #expect(throws: ConfigurationError.self) { try HTTPRetryPolicy.standard(attempts: 2, throttledBaseDelay: bad) }
      #expect(throws: ConfigurationError.self) { try HTTPRetryPolicy.standard(attempts: 2, cap: bad) }
    }
    let huge = try HTTPRetryPolicy.standard(attempts: .max, baseDelay: .seconds(Int64.max), random: .seeded(1))
    guard case .retryAfter(let delay) = huge.shouldRetry(with: TestError(), state: .empty, metadata: (nil, nil, nil))
    else {
      throw TestFailure("no delay")
    }
    #expect(delay < .seconds(20))
  }

  @Test("Equal seeds give equal schedules to the millisecond over a stack; different seeds differ")
  func overStack() async throws {
    func schedule(_ seed: UInt64) async throws -> [Duration] {
      let time = ManualClock(autoAdvance: true)
      let transport = ScriptedTransport(
        repeatingLast:
          .answer(503), .answer(503, fields: [.retryAfter: "2"]), .answer(429), .fail(.connect, .connectFailed))
      let stack = TransportNetworkStack(transport, time: time.timeSource) { $0.randomSource = .seeded(seed + 1) }
      let policy = try HTTPRetryPolicy.standard(attempts: 6, random: .seeded(seed))
      let error = try await stack.failure(of: .intercepted(by: RetryInterceptor(policy: policy)))
      #expect(error.attempts.map(\.delay).dropFirst().elementsEqual(time.sleeps))
      return time.sleeps
    }
    let first = try await schedule(5)
    #expect(first.count == 5 && first[1] >= .seconds(2) && first[1] < .seconds(2.2))
    #expect(try await schedule(5) == first)
    #expect(try await schedule(6) != first)
    let policy = RandomSource.seeded(5)
    let expected: [Duration?] = [0.05, nil, 4, 0.4, 0.8].map { (base: Double?) -> Duration? in
      let unit = policy.unit()
      return base.map { .seconds($0) * unit }
    }
    for (made, expected) in zip(first, expected) where expected != nil { #expect(made == expected) }
  }
}
