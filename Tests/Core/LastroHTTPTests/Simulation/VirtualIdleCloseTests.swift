// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LastroHTTP

@Suite("Idle closes raced against reuse", .ownThread)
struct VirtualIdleCloseTests {
  @Test("At whatever moment a server closes idle connections, no POST is processed twice, and no GET is lost")
  func race() {
    // All seeds together make 100,000 closes, which take a minute in a debug build. A reduced test run strides over a
    // tenth of the seeds.
    let seeds = SeedStride.some(of: Array(1...(SeedStride.value == 1 ? 100 : 10) as ClosedRange<UInt64>))
    var closes: [IdleCloseRace.Moment: Int] = [:], failures = 0, resends = 0
    for seed in seeds {
      let race = IdleCloseRace(seed: seed)
      race.run(closes: 1_000)
      if let fault = race.faults.first {
        Issue.record("\(fault)")
        return
      }
      closes.merge(race.closes, uniquingKeysWith: +)
      failures += race.failures
      resends += race.resends
    }
    #expect(closes.values.reduce(0, +) >= 1_000 * seeds.count)
    // A race that is never lost would prove little.
    #expect(closes.count == IdleCloseRace.Moment.allCases.count && closes.values.allSatisfy { $0 > 20 }, "\(closes)")
    #expect(failures > 100 && resends > 100, "\(failures), \(resends)")
  }
}
