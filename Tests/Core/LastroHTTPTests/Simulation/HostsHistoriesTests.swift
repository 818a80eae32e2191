// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LastroHTTP

@Suite("All histories of several hosts", .ownThread, .serialized, .timeLimit(.minutes(15)))
struct HostsHistoriesTests {
  @Test("Every interleaving of requests, responses, ends and time keeps the order, the limits and the memory of hosts")
  func every() {
    let histories = BoundedHistories(bound: 7 + BoundedHistories.extra, isValue: false) { HostsWorld(requests: 4) }
    histories.print("several hosts")
    #expect(histories.failure == nil)
    #expect(histories.states >= 821)
  }

  @Test("A forgotten setting breaks its property", arguments: HostsWorld.Plant.allCases)
  func plants(plant: HostsWorld.Plant) {
    let histories = BoundedHistories(bound: 6, isValue: false) { HostsWorld(requests: 3, plant: plant) }
    #expect(histories.breaks(plant.breaks), "\(histories.failure ?? "nothing")")
  }
}
