// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroCurl

/// What stays of connections, hosts and options when no request uses them.
@Suite("What is kept idle", .timeLimit(.minutes(5)))
struct IdleQueueTests {
  @Test("the first is the one that has been idle for longest, whatever was taken and given back", arguments: 0..<20)
  func order(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var queue = IdleQueue()
    var turns: [Int32: UInt64] = [:]
    var expected: [Int32] = []
    func check() {
      let first = queue.first { turns[$0] }
      #expect(first == expected.first && queue.count == expected.count)
    }
    for _ in 0..<2_000 {
      let descriptor = Int32.random(in: 0..<100, using: &random)
      if turns.removeValue(forKey: descriptor) != nil {
        expected.removeAll { $0 == descriptor }
        queue.noteGone { turns[$0] }
      } else {
        turns[descriptor] = queue.append(descriptor)
        expected.append(descriptor)
      }
      check()
    }
    #expect(queue.stored <= 3 * 100 + 64)
  }

  private func engine(idle: Int) throws -> CurlTransport {
    try CurlTransport.with {
      $0.idleConnections = idle
      $0.connection.proxy = .none
    }
  }

  @Test("of too many idle connections the oldest goes, whichever host it is of")
  func oldestGoes() async throws {
    let servers = try (0..<3).map { _ in try LoopbackServer.http { _ in .text("fine") } }
    let engine = try engine(idle: 2)
    // The second is the oldest when the third falls idle.
    for index in [0, 1, 0, 2, 0, 1] { #expect(await engine.outcome(servers[index]) == .answered(200, "fine")) }
    #expect(servers.map(\.acceptedConnections) == [1, 2, 1])
  }

  @Test("options that nothing uses any more are forgotten")
  func options() async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let engine = try engine(idle: 2)
    for number in 0..<300 {
      var options = ConnectionOptions()
      options.proxy = .none
      options.resolutions = [.init(host: "h\(number)", port: 80, addresses: ["127.0.0.1"])]
      #expect(await engine.outcome(server) { $0.connection = options } == .answered(200, "fine"))
    }
    let known = try engine.pickStreamLoop().seat.turn { $0.direct.knownOptions } ?? 0
    #expect((1...66).contains(known))
  }
}
