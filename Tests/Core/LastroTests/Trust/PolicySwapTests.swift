// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Policy swaps", .timeLimit(.minutes(15)))
struct PolicySwapTests {
  typealias Configuration = ServerTrustEvaluator.Configuration

  @Test("A new configuration applies at once, is visible, and changes the revision")
  func swap() throws {
    let chain = try TrustChain()
    let evaluator = try ServerTrustEvaluator(.test())
    #expect(try evaluator.decision(on: chain.trust()).failure?.reason == .noPinMatches)
    let before = evaluator.revision
    let configuration = try Configuration(pinningPolicies: [.test(pins: ["\(chain.leaf.pin)"])])
    evaluator.configuration = configuration
    #expect(evaluator.configuration == configuration && evaluator.revision != before)
    #expect(try evaluator.decision(on: chain.trust()) == .success(.pinned))
    // Setting an equal configuration again also changes the revision.
    let after = evaluator.revision
    evaluator.configuration = configuration
    #expect(evaluator.revision != after && evaluator.revision != before)
  }

  @Test("The revision changes with every policy that expires, and never repeats after a swap")
  func revision() throws {
    let clock = ManualClock()
    let policies: [PinningPolicy] = try [
      .test("a.example", expiration: .refuse(after: .manual(10))),
      .test("b.example", expiration: .fallBack(after: .manual(20))),
      .test("c.example", expiration: .fallBack(after: .manual(20))), .test("d.example"),
    ]
    let configuration = try Configuration(pinningPolicies: policies)
    let evaluator = ServerTrustEvaluator(configuration: configuration, timeSource: clock.timeSource)
    var seen = [evaluator.revision]
    func note() { if seen.last != evaluator.revision { seen.append(evaluator.revision) } }
    for _ in 0..<30 {
      clock.advance(by: .seconds(1))
      note()
    }
    #expect(seen.count == 3)
    evaluator.configuration = configuration
    note()
    #expect(seen.count == 4 && Set(seen).count == 4)
  }

  @Test("The revision and the judgement agree on the moment of expiration")
  func moment() throws {
    let chain = try TrustChain()
    let clock = ManualClock()
    let policy = try PinningPolicy.test(expiration: .refuse(after: .manual(1)), pins: ["\(chain.leaf.pin)"])
    let evaluator = try ServerTrustEvaluator(policy, clock: clock)
    var last = (evaluator.revision, try evaluator.decision(on: chain.trust()))
    for _ in 0..<200 {
      clock.advance(by: .milliseconds(10))
      let next = (evaluator.revision, try evaluator.decision(on: chain.trust()))
      #expect((last.0 == next.0) == (last.1 == next.1))
      last = next
    }
    #expect(last.1.failure?.reason == .policyExpired(.manual(1)))
  }

  @Test("Without expirations the revision does not read the clock")
  func noClock() throws {
    let reads = EventRecorder<Void>()
    let time = TimeSource(
      now: { .zero }, sleep: { _ in },
      sinceEpoch: {
        reads.record(())
        return .zero
      })
    let never = try Configuration(pinningPolicies: [.test(), .excluding("a.example")])
    let evaluator = ServerTrustEvaluator(configuration: never, timeSource: time)
    _ = evaluator.revision
    #expect(reads.count == 0)
    evaluator.configuration = try Configuration(pinningPolicies: [.test(expiration: .refuse(after: .manual()))])
    _ = evaluator.revision
    #expect(reads.count == 1)
  }

  @Test("During concurrent swaps each judgement uses exactly one configuration")
  func concurrently() async throws {
    let chain = try TrustChain()
    let trust = try chain.trust()
    // One configuration's policy accepts the chain. The other configuration refuses it, for a reason of its own.
    let accepting = try Configuration(pinningPolicies: [.test(pins: ["\(chain.leaf.pin)"])])
    let refusing = try Configuration(
      pinningPolicies: [.test("other.example")], certificateCheckingOrder: .rootToLeaf)
    let reports = EventRecorder<TrustReport>()
    let evaluator = ServerTrustEvaluator(configuration: accepting, onReport: { reports.record($0) })
    await withTaskGroup { group in
      for index in 0..<4 {
        group.addTask {
          for round in 0..<200 {
            evaluator.configuration = (round + index).isMultiple(of: 2) ? accepting : refusing
          }
        }
        group.addTask {
          var last: UInt64 = 0
          for _ in 0..<500 {
            let decision = evaluator.decision(on: trust)
            #expect(decision == .success(.pinned) || decision.failure?.reason == .hostNotPinned)
            let revision = evaluator.revision
            #expect(revision >= last)
            last = revision
            _ = evaluator.statistics
          }
        }
      }
    }
    // The revision starts at 1, and 4 times 200 swaps follow.
    #expect(evaluator.revision == UInt64(801) << 32)
  }
}
