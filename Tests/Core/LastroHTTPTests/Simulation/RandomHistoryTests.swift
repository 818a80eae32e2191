// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LastroHTTP

@Suite("Random histories of an engine", .ownThread, .serialized)
struct RandomHistoryTests {
  private func run(_ seeds: ClosedRange<UInt64>, isHTTP2: Bool) -> (outcomes: [String: Int], resends: Int) {
    var outcomes: [String: Int] = [:], resends = 0
    for seed in SeedStride.some(of: Array(seeds)) {
      let history = RandomHistory(seed: seed, RandomHistory.Plan(isHTTP2: isHTTP2))
      history.run(steps: 24)
      if let fault = history.faults.first {
        Issue.record("\(fault)")
        break
      }
      outcomes.merge(history.outcomes, uniquingKeysWith: +)
      resends += history.resends
    }
    return (outcomes, resends)
  }

  @Test("Over HTTP/1.1 each request is answered once, no connection is idle while a request waits, and limits hold")
  func http1() {
    let (outcomes, resends) = run(1...1_000, isHTTP2: false)
    // Histories that reach few states would prove little.
    #expect(outcomes.count >= 8 && outcomes["200", default: 0] > 100 && resends > 0, "\(outcomes), \(resends)")
  }

  @Test("Over HTTP/2 each request is answered once, by its own response, and no POST is served twice")
  func http2() {
    let (outcomes, resends) = run(1...1_000, isHTTP2: true)
    #expect(outcomes.count >= 8 && outcomes["200", default: 0] > 100 && resends > 0, "\(outcomes), \(resends)")
  }

  @Test("Equal histories have equal traces: nothing depends on the order of a dictionary", arguments: [true, false])
  func traces(isHTTP2: Bool) {
    for seed in 1...40 as ClosedRange<UInt64> {
      let traces = (0..<2).map { _ in
        let history = RandomHistory(seed: seed, RandomHistory.Plan(isHTTP2: isHTTP2))
        history.run(steps: 24)
        return history.trace
      }
      #expect(!traces[0].isEmpty && traces[0] == traces[1])
    }
  }

  private static let plans = [nil, 1, 2, 100].flatMap { (streams: UInt32?) in
    [true, false].map { RandomHistory.Plan(isHTTP2: streams != nil, streams: streams, isCold: $0) }
  }

  @Test(
    "In ten minutes in which one request in three is cancelled, none gets another's response, and nothing leaks",
    arguments: plans)
  func cancellations(_ plan: RandomHistory.Plan) {
    var outcomes: [String: Int] = [:], cancellations = 0, resends = 0
    for seed in SeedStride.some(of: Array(1...3 as ClosedRange<UInt64>)) {
      let history = RandomHistory(seed: seed, plan)
      history.run(cancellingFor: .seconds(600))
      if let fault = history.faults.first {
        Issue.record("\(fault)")
        return
      }
      outcomes.merge(history.outcomes, uniquingKeysWith: +)
      cancellations += history.cancellations
      resends += history.resends
    }
    let count = outcomes.values.reduce(0, +)
    #expect(count > 1_000 && cancellations * 4 > count && cancellations * 2 < count, "\(cancellations) of \(count)")
    #expect(outcomes.count >= 8 && outcomes["200", default: 0] > 100, "\(outcomes)")
    #expect(outcomes["cancelled/cancelled", default: 0] > 100 && (plan.isCold == true || resends > 0), "\(outcomes)")
  }
}
