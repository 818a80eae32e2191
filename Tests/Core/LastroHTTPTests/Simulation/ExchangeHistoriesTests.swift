// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LastroHTTP

@Suite("All histories of an HTTP/1.1 exchange", .ownThread, .serialized, .timeLimit(.minutes(15)))
struct ExchangeHistoriesTests {
  /// The number of events of a history, and the least number of states that they reach.
  private static let bounds: [ExchangeWorld.Scenario: (events: Int, states: Int)] = [
    .get: (6, 1_375), .post: (5, 403), .expect: (5, 442), .reusedGet: (5, 592), .reusedPost: (5, 268),
  ]

  @Test(
    "Every interleaving of reads, writes, responses, ends, cancellations and time keeps the properties",
    arguments: ExchangeWorld.Scenario.allCases)
  func every(scenario: ExchangeWorld.Scenario) throws {
    let bound = try #require(Self.bounds[scenario])
    let histories = BoundedHistories(bound: bound.events + BoundedHistories.extra, isValue: false) {
      ExchangeWorld(scenario)
    }
    histories.print("an HTTP/1.1 exchange (\(scenario))")
    #expect(histories.failure == nil)
    #expect(histories.states >= bound.states)
  }

  @Test("A planted fault breaks its property", arguments: ExchangeWorld.Plant.allCases)
  func plants(plant: ExchangeWorld.Plant) {
    let histories = BoundedHistories(bound: 5, isValue: false) {
      ExchangeWorld(plant == .resendsPost ? .reusedPost : .get, plant: plant)
    }
    #expect(histories.breaks(plant.breaks), "\(histories.failure ?? "nothing")")
  }
}
