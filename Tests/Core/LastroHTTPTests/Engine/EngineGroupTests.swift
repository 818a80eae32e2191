// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroHTTP

@Suite("Limits shared by several loops")
struct EngineGroupTests {
  @Test(
    "Limits per host are divided between home and second choice, and never exceeded by both",
    arguments: [(128, 32), (16, 4), (7, 1), (4, 1)])
  func limits(limit: Int, second: Int) throws {
    var settings = EngineSettings()
    settings.connectionsPerHost = limit
    let shared = try #require(settings.sharedByHomes)
    #expect(shared.second.connectionsPerHost == second)
    #expect(shared.home.connectionsPerHost == limit - second)
    #expect((shared.home.http2StreamsPerHost, shared.second.http2StreamsPerHost) == (750, 250))
    #expect((shared.home.dialsPerHost, shared.second.dialsPerHost) == (12, 4))
    #expect(shared.home.idleConnections == settings.idleConnections)
    #expect(shared.second.maximumQueuedRequests == settings.maximumQueuedRequests)
  }

  @Test("A limit per host that cannot be divided applies to the home alone")
  func indivisible() {
    for limit in [\EngineSettings.connectionsPerHost, \.http2StreamsPerHost, \.dialsPerHost] {
      var settings = EngineSettings()
      settings[keyPath: limit] = 3
      #expect(settings.sharedByHomes == nil)
    }
  }
}
