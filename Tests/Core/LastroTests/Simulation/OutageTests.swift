// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

/// A host that is down, and many clients that still call it.
@Suite("Simulated outage", .ownThread, .timeLimit(.minutes(15)))
struct OutageTests {
  static let calls = 1_000

  @Test("A thousand consecutive calls in an outage add few retries, and the quota refills after the outage")
  func oneAfterTheOther() async throws {
    for outage in [0, 1, 10, 30, 3_600] {
      let clock = ManualClock(autoAdvance: true)
      let quota = RetryQuota.standard()
      let end = Duration.seconds(outage)
      let transport = ScriptedTransport { (_, index) throws(TransportError) in
        clock.advance(by: .milliseconds(20))
        guard clock.now < end else { return .answer(200) }
        if index % 3 == 0 { return .answer(503, fields: [.retryAfter: "1"]) }
        if index % 3 == 1 { return .answer(500) }
        throw TransportError(stage: .connect, code: .connectFailed, message: "down")
      }
      let stacks = try (0..<4).map { number in
        let policy = try HTTPRetryPolicy.standard(attempts: 5, random: .seeded(UInt64(number)))
        return TransportNetworkStack(
          transport, time: clock.timeSource, interceptors: [RetryInterceptor(policy: policy)]
        ) {
          $0.retryQuota = quota
          $0.randomSource = .seeded(UInt64(number))
        }
      }
      var refused = 0
      for call in 0..<Self.calls {
        clock.advance(by: .milliseconds(10))
        let error = try? await stacks[call % 4].failure(of: .test())
        if error?.retryEnd?.code == "quota" { refused += 1 }
      }
      #expect(Double(transport.requests.count) < 1.2 * Double(Self.calls) + 40)
      #expect((refused > 0) == (outage > 1_000), "\(outage): \(refused)")
      // The outage ends, and successful calls refill the quota.
      clock.advance(by: end)
      for call in 0..<500 { _ = try await stacks[call % 4].fetch(.test()) }
      #expect(quota.isFull)
    }
  }

  @Test("A thousand concurrent calls make no more retries than the quota allows")
  func atOnce() async throws {
    let quota = RetryQuota.standard()
    let isUp = Lock(false)
    let transport = ScriptedTransport { _ throws(TransportError) in .answer(isUp.withLock { $0 } ? 200 : 500) }
    let stacks = try (0..<4).map { number in
      let policy = try HTTPRetryPolicy.standard(attempts: 5, random: .seeded(UInt64(number)))
      return TransportNetworkStack(transport, interceptors: [RetryInterceptor(policy: policy)]) {
        $0.retryQuota = quota
        $0.timeouts = .streaming
      }
    }
    let resource = try RawHTTPResource.test()
    let attempts = await withTaskGroup(of: Int.self) { group in
      for call in 0..<Self.calls {
        group.addTask { (try? await stacks[call % 4].failure(of: resource))?.attempts.count ?? 0 }
      }
      return await group.reduce(0, +)
    }
    #expect(attempts == transport.requests.count)
    // The quota has 500 tokens, and a retry costs 14.
    #expect(attempts == Self.calls + 35)
    #expect(quota.tokens(of: try RetryQuotaTests.origin()) == 500 - 35 * 14)
    isUp.withLock { $0 = true }
    for call in 0..<490 { _ = try await stacks[call % 4].fetch(resource) }
    #expect(quota.isFull)
  }
}
