// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

/// The selection of unused connections, hosts and options that are kept.
@Suite("Queue of idle connections", .timeLimit(.minutes(15)))
struct IdleQueueTests {
  @Test("The first is the one that has been idle longest, whatever was taken and returned", arguments: 0..<20)
  func order(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var queue = IdleQueue()
    var turns: [UInt64: Int64] = [:]
    var expected: [UInt64] = []
    func check() {
      let first = queue.first { turns[$0] }
      #expect(first == expected.first && queue.count == expected.count)
    }
    for _ in 0..<2_000 {
      let descriptor = UInt64.random(in: 0..<100, using: &random)
      if turns.removeValue(forKey: descriptor) != nil {
        expected.removeAll { $0 == descriptor }
        queue.removeOne { turns[$0] }
      } else {
        turns[descriptor] = queue.append(descriptor)
        expected.append(descriptor)
      }
      check()
    }
    #expect(queue.stored <= 3 * 100 + 64)
  }

  @Test("Unused entries are discarded beyond the spare ones, and then once those in use have doubled")
  func cleanup() {
    var rule = CleanupRule(spare: 4)
    #expect(!rule.isDue(count: 4) && rule.isDue(count: 5))
    rule.cleanedUp(keeping: 5)
    #expect(!rule.isDue(count: 10) && rule.isDue(count: 11))
    rule.cleanedUp(keeping: 1)
    #expect(!rule.isDue(count: 4) && rule.isDue(count: 5))
  }
}
