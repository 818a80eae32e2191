// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LastroHTTP

@Suite("Random histories of an engine", .ownThread)
struct RandomHistoryTests {
  private func run(_ seeds: ClosedRange<UInt64>, isHTTP2: Bool) -> (outcomes: [String: Int], resends: Int) {
    var outcomes: [String: Int] = [:], resends = 0
    for seed in SeedStride.some(of: Array(seeds)) {
      let history = RandomHistory(seed: seed, isHTTP2: isHTTP2)
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

  @Test("Over HTTP/1.1 each request is answered once, no connection idles beside one that waits, and limits hold")
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
}
