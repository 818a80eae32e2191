// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Lastro

@Suite("Retry quota", .timeLimit(.minutes(15)))
struct RetryQuotaTests {
  static func origin(_ host: String = "example.com") throws -> Origin { try Origin("https://\(host)/") }

  @Test("The quota has defaults and refuses invalid values")
  func configuration() throws {
    let standard = RetryQuota.standard()
    #expect(standard.capacity == 500 && standard.cost == 14 && standard.throttledCost == 5)
    _ = try RetryQuota(capacity: 1, cost: 0, throttledCost: 0)
    #expect(throws: ConfigurationError.self) { try RetryQuota(capacity: 0) }
    #expect(throws: ConfigurationError.self) { try RetryQuota(capacity: -1) }
    #expect(throws: ConfigurationError.self) { try RetryQuota(cost: -1) }
    #expect(throws: ConfigurationError.self) { try RetryQuota(throttledCost: -1) }
  }

  @Test("Each origin's quota is spent until it is empty and refunded up to its capacity")
  func arithmetic() throws {
    let quota = try RetryQuota(capacity: 30)
    let origin = try Self.origin()
    let other = try Self.origin("other.example")
    #expect(quota.isFull)
    #expect(quota.pay(14, for: origin) == 16)
    #expect(quota.pay(14, for: origin) == 2)
    #expect(quota.pay(14, for: origin) == nil)
    #expect(quota.tokens(of: origin) == 2 && quota.tokens(of: other) == 30)
    #expect(quota.pay(2, for: origin) == 0 && !quota.isFull)
    #expect(quota.pay(0, for: origin) == 0)
    quota.refund(1, for: origin)
    #expect(quota.tokens(of: origin) == 1)
    quota.refund(100, for: origin)
    #expect(quota.tokens(of: origin) == 30 && quota.isFull)
    quota.refund(5, for: other)
    #expect(quota.tokens(of: other) == 30 && quota.isFull)
    #expect(quota.pay(31, for: other) == nil && quota.pay(.max, for: other) == nil && quota.isFull)
    #expect(quota.pay(0, for: other) == 30 && quota.isFull)
  }

  @Test("Concurrent tasks keep the quota between zero and its capacity, and all of it is refunded")
  func stress() async throws {
    let quota = try RetryQuota(capacity: 100)
    let origins = try (0..<4).map { try Self.origin("host\($0).example") }
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<16 {
        group.addTask {
          let dice = Dice(UInt64(worker))
          var paid: [(Int, Origin)] = []
          for _ in 0..<500 {
            let origin = dice.pick(origins)
            if dice.chance(60) {
              let amount = dice.int(0...20)
              if let left = quota.pay(amount, for: origin) {
                #expect((0...100).contains(left))
                paid.append((amount, origin))
              }
            } else if let (amount, origin) = paid.popLast() {
              quota.refund(amount, for: origin)
            }
            let tokens = quota.tokens(of: origin)
            if !(0...100).contains(tokens) { Issue.record("\(tokens) tokens") }
          }
          for (amount, origin) in paid { quota.refund(amount, for: origin) }
        }
      }
    }
    #expect(quota.isFull)
    for origin in origins { #expect(quota.tokens(of: origin) == 100) }
  }
}
