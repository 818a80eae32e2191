// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroSimulation
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

@Suite("Connections that are opened in advance, in virtual time", .timeLimit(.minutes(15)))
struct VirtualWarmingTests {
  @Test("As many connections are opened as wanted, nothing is sent on them, and requests use them")
  func opens() {
    let engine = VirtualEngine()
    engine.network.echo(response: .seconds(1))
    let warmed = engine.startWarming(3)
    #expect(warmed.map(\.words) == ["200", "200", "200"])
    #expect(engine.network.dials.count == 3 && engine.network.openCount == 3)
    #expect(engine.network.links.allSatisfy { $0.far.total == 0 })
    #expect(engine.holdings == .atRest(connections: 3) && engine.activeJobs == 0)
    let calls = (0..<3).map { engine.start(.to("/\($0)")) }
    engine.advance(by: .seconds(1))
    #expect(calls.map(\.text) == ["/0", "/1", "/2"])
    #expect(calls.allSatisfy { $0.response?.facts.connectionReused == true })
    #expect(engine.network.dials.count == 3)
  }

  @Test("Open connections count, whether they are idle or in use, and only closed ones are opened again")
  func counts() {
    let engine = VirtualEngine()
    engine.network.echo(response: .seconds(1))
    _ = engine.startWarming(3)
    _ = engine.start(.to("/busy"))
    #expect(engine.startWarming(3).map(\.words) == ["200", "200", "200"])
    #expect(engine.network.dials.count == 3)
    engine.advance(by: .seconds(1))
    engine.network.openLinks[0].ended(.end(isClean: true))
    engine.settle()
    #expect(engine.startWarming(3).map(\.words) == ["200", "200", "200"])
    #expect(engine.network.dials.count == 4 && engine.network.openCount == 3)
  }

  @Test("One HTTP/2 connection is enough for any number, and requests use it", arguments: [1, 4])
  func multiplexed(count: Int) {
    let engine = VirtualEngine()
    var servers: [MemoryHTTP2Server] = []
    engine.network.serveHTTP2(streams: 100, made: { servers.append($0) }) { server, request in
      server.respond(request.target, to: request)
    }
    let request = TransferRequest.to("/", scheme: "https")
    #expect(engine.startWarming(count, request).map(\.words) == Array(repeating: "200", count: count))
    #expect(engine.startWarming(count, request).map(\.words) == Array(repeating: "200", count: count))
    #expect(servers.count == 1 && servers[0].requests.isEmpty && engine.activeJobs == 0)
    #expect(engine.start(.to("/first", scheme: "https")).text == "/first")
    #expect(engine.network.dials.count == 1 && servers[0].requests.map(\.target) == ["/first"])
  }

  @Test("A failed dial is the outcome of its job alone, and the other connections stay open")
  func failure() {
    let engine = VirtualEngine()
    let refusal = TransportError(stage: .connect, code: .connectFailed, message: "refused", hint: "listen")
    engine.network.dialing = { [unowned network = engine.network] _ in
      network.dials.count == 2 ? .failed(refusal, after: .seconds(1)) : .open(after: .seconds(2)) { _ in }
    }
    let warmed = engine.startWarming(3)
    engine.advance(by: .seconds(3))
    #expect(warmed.map(\.words).sorted() == ["200", "200", "connect/connect_failed"])
    #expect(engine.network.openCount == 2 && engine.holdings == .atRest(connections: 2))
  }

  @Test("A request that arrives in the meantime gets a connection, and another is dialed for the warm-up")
  func requestBetween() {
    let engine = VirtualEngine()
    engine.network.echo(after: .seconds(1), response: .seconds(1))
    let warmed = engine.startWarming(2)
    let call = engine.start(.to("/0"))
    engine.advance(by: .seconds(4))
    #expect(warmed.map(\.words) == ["200", "200"] && call.text == "/0")
    #expect(engine.network.openCount >= 2 && engine.activeJobs == 0)
  }

  @Test("Cancelled jobs cancel their dials, and leave nothing behind")
  func cancelled() {
    let engine = VirtualEngine()
    let warmed = engine.startWarming(2)
    for call in warmed { engine.cancel(call) }
    #expect(warmed.map(\.words) == ["cancelled/cancelled", "cancelled/cancelled"])
    #expect(engine.network.cancelledDials == 2 && engine.holdings == .atRest(connections: 0))
  }

  @Test("A dial that takes longer than allowed fails its job")
  func late() {
    let engine = VirtualEngine()
    let warmed = engine.startWarming(1, .to { $0.connectTimeout = .seconds(1) })
    engine.advance(by: .seconds(2))
    #expect(warmed.map(\.words) == ["timeout/connect_timeout"] && engine.network.cancelledDials == 1)
  }

  @Test("A connection that was never used is closed after the idle lifetime")
  func idles() {
    let engine = VirtualEngine { $0.idleLifetime = .seconds(60) }
    engine.network.echo(response: .seconds(1))
    _ = engine.startWarming(2)
    engine.advance(by: .seconds(59))
    #expect(engine.network.openCount == 2)
    engine.advance(by: .seconds(2))
    #expect(engine.network.openCount == 0 && engine.holdings == .atRest(connections: 0))
  }

  @Test("More connections than the engine keeps, or none, are refused", arguments: [0, -1, 5])
  func limits(count: Int) async {
    let engine = VirtualEngine {
      $0.connectionsPerHost = 128
      $0.idleConnections = 4
    }
    let error = await #expect(throws: TransportError.self) {
      try await engine.port.open(count, toServerOf: .to(), own: nil)
    }
    #expect(error?.code == .invalidOption && error?.message.contains("at most 4") == true && error?.hint != nil)
    #expect(engine.network.dials.isEmpty)
  }
}
