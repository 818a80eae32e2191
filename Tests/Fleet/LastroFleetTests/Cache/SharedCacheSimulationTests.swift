// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("One cache for twenty simulated instances", .timeLimit(.minutes(30)))
struct SharedCacheSimulationTests {
  private static let count = SharedCacheSimulation.instances
  /// The number of times that the response becomes stale.
  private static let times = SharedCacheSimulation.seconds / 10

  @Test("Equal requests of all instances at once become one, where each would send its own otherwise")
  func one() async throws {
    let all = try await SharedCacheSimulation.all.value
    #expect(all[0].atOnce == Self.count, "\(all[0])")
    #expect(all[1].atOnce == 1, "\(all[1])")
  }

  @Test("In a minute the server gets one request for each time that the response becomes stale")
  func minute() async throws {
    let all = try await SharedCacheSimulation.all.value
    #expect((Self.times - 1...Self.times + 1).contains(all[1].requests), "\(all[1])")
    #expect(all[0].requests > Self.count * (Self.times - 2), "\(all[0])")
  }

  @Test("With crashes each second the server gets one request more for each crash at most")
  func crashes() async throws {
    let figures = try await SharedCacheSimulation.all.value[2]
    #expect((Self.times - 1...Self.times + 1 + SharedCacheSimulation.seconds).contains(figures.requests), "\(figures)")
  }

  @Test("While the store is down each instance has its own cache")
  func down() async throws {
    let figures = try await SharedCacheSimulation.all.value[3]
    #expect((Self.times - 1...Self.times + 1 + 3 * Self.count).contains(figures.requests), "\(figures)")
  }

  @Test("No call fails, and nothing goes wrong in any setting")
  func failures() async throws {
    let all = try await SharedCacheSimulation.all.value
    #expect(all.count == SharedCacheSimulation.settings.count)
    for figures in all {
      #expect(figures.failures == 0 && figures.programErrors == [] && figures.calls >= Self.count * 50, "\(figures)")
    }
  }
}
