// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroSimulation
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

/// Actions on many hosts at once, which follow the order in which the hosts were first used.
@Suite("Order of hosts in an engine in memory")
struct VirtualOrderTests {
  private let hosts = (0..<40).map { "h\($0)" }

  /// Returns an engine with an idle HTTP/2 connection to each host.
  private func warmEngine() -> VirtualEngine {
    let engine = VirtualEngine()
    engine.network.serveHTTP2 { server, request in server.respond(request.target, to: request) }
    for host in hosts { #expect(engine.start(.to(scheme: "https", authority: host)).status == 200) }
    #expect(engine.network.links.count == hosts.count)
    return engine
  }

  @Test("A closing engine closes its connections in the order of its hosts")
  func closing() throws {
    let engine = warmEngine()
    let core = try #require(engine.port.reference.core)
    engine.port.loop.seat.withLock { $0?.remove(core) }
    #expect(engine.network.closedLinks.map(\.id) == engine.network.links.map(\.id))
  }

  @Test("A closing engine cancels its dials in the order of its hosts")
  func cancelling() throws {
    let engine = VirtualEngine()
    let calls = hosts.map { engine.start(.to(authority: $0)) }
    let core = try #require(engine.port.reference.core)
    engine.port.loop.seat.withLock { $0?.remove(core) }
    #expect(engine.network.cancelled.map(\.target.host.text) == hosts)
    #expect(calls.allSatisfy { !$0.isOver })
  }

  @Test("HTTP/2 connections that die at the same time are closed in the order of their hosts")
  func liveness() {
    let engine = warmEngine()
    engine.advance(by: .seconds(10))
    for link in engine.network.links { link.far.accepts = false }
    let body = RequestBody(source: .bytes(Data("b".utf8)))
    let posts = hosts.map { engine.submit(.to("/1", .post, scheme: "https", authority: $0, body: body)) }
    engine.advance(by: .seconds(10))
    #expect(engine.network.closedLinks.map(\.id) == engine.network.links.map(\.id))
    #expect(posts.allSatisfy { $0.error?.code == .connectionLost })
  }
}
