// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroCurl
@testable import LastroHTTP

@Suite("Idle connections", .timeLimit(.minutes(15)))
struct IdleConnectionTests {
  private func engine(idle: Int) throws -> CurlTransport {
    try CurlTransport.with {
      $0.idleConnections = idle
      $0.connection.proxy = .none
    }
  }

  @Test("Beyond the idle limit the connection that has been idle longest is closed, whichever its host")
  func oldestGoes() async throws {
    let servers = try (0..<3).map { _ in try LoopbackServer.http { _ in .text("fine") } }
    let engine = try engine(idle: 2)
    // The second connection has been idle longest when the third becomes idle.
    for index in [0, 1, 0, 2, 0, 1] { #expect(await engine.outcome(servers[index]) == .answered(200, "fine")) }
    #expect(servers.map(\.acceptedConnections) == [1, 2, 1])
  }

  @Test("Connection options that no connection uses any more are discarded")
  func options() async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let engine = try engine(idle: 2)
    for number in 0..<300 {
      var options = ConnectionOptions()
      options.proxy = .none
      options.resolutions = [.init(host: "h\(number)", port: 80, addresses: ["127.0.0.1"])]
      #expect(await engine.outcome(server) { $0.connection = options } == .answered(200, "fine"))
    }
    let known = engine.loops[0].loop.seat.withLock { _ in engine.loops[0].port.reference.core?.partitions.count ?? 0 }
    #expect((1...66).contains(known))
  }
}
