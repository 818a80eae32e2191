// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Lastro

@Suite("All histories of token refreshes", .ownThread, .serialized, .timeLimit(.minutes(15)))
struct TokenHistoriesTests {
  @Test(
    "Every interleaving of calls, refusals, results, limits, cancellations and replacements keeps the properties",
    arguments: [true, false])
  func every(hasToken: Bool) {
    let histories = BoundedHistories(bound: 8 + BoundedHistories.extra, isValue: true) {
      TokenWorld(calls: 3, hasToken: hasToken)
    }
    histories.print("token refreshes (\(hasToken ? "with" : "without") a token)")
    #expect(histories.failure == nil)
    #expect(histories.states >= (hasToken ? 22_233 : 15_412))
  }

  @Test("A planted fault breaks its property", arguments: TokenWorld.Plant.allCases)
  func plants(plant: TokenWorld.Plant) {
    let histories = BoundedHistories(bound: 6, isValue: true) { TokenWorld(calls: 3, hasToken: true, plant: plant) }
    #expect(histories.breaks(plant.breaks), "\(histories.failure ?? "nothing")")
  }
}
