// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroSimulation
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

@Suite("Connections of a pool, in virtual time")
struct VirtualPoolTests {
  @Test("A connection is reused until a second before the server closes it, according to its Keep-Alive")
  func keepAlive() {
    let engine = VirtualEngine()
    engine.network.serveHTTP1 { server, request in
      server.respond(request.target, fields: ["Keep-Alive": "timeout=5"])
    }
    #expect(engine.start(.to("/1")).text == "/1")
    engine.advance(by: .seconds(4) - .nanoseconds(1))
    #expect(engine.start(.to("/2")).text == "/2")
    #expect(engine.network.dials.count == 1)
    engine.advance(by: .seconds(4))
    #expect(engine.start(.to("/3")).text == "/3")
    #expect(engine.network.dials.count == 2)
    #expect(engine.network.openCount == 1)
  }

  @Test("A Keep-Alive time with a sign is ignored", arguments: ["+5", "-5"])
  func signedKeepAlive(time: String) {
    let engine = VirtualEngine()
    engine.network.serveHTTP1 { server, request in
      server.respond(request.target, fields: ["Keep-Alive": "timeout=\(time)"])
    }
    #expect(engine.start(.to("/1")).text == "/1")
    engine.advance(by: .seconds(10))
    #expect(engine.start(.to("/2")).text == "/2")
    #expect(engine.network.dials.count == 1)
  }

  @Test("An idle connection is closed at the end of its idle lifetime")
  func idleLifetime() {
    let engine = VirtualEngine { $0.idleLifetime = .seconds(10) }
    engine.network.echo()
    _ = engine.start(.to())
    engine.advance(by: .seconds(10) - .nanoseconds(1))
    #expect(engine.network.openCount == 1)
    engine.advance(by: .nanoseconds(1))
    #expect(engine.network.openCount == 0)
  }

  @Test("A connection carries no request after its lifetime")
  func connectionLifetime() {
    let engine = VirtualEngine { $0.connectionLifetime = .seconds(20) }
    engine.network.echo()
    for number in 0..<4 {
      #expect(engine.start(.to("/\(number)")).text == "/\(number)")
      engine.advance(by: .seconds(5))
    }
    #expect(engine.network.dials.count == 1)
    #expect(engine.start(.to("/late")).text == "/late")
    #expect(engine.network.dials.count == 2 && engine.network.openCount == 1)
  }

  @Test("Beyond the idle limit the connection that has been idle longest is closed")
  func idleConnections() {
    let engine = VirtualEngine { $0.idleConnections = 2 }
    engine.network.echo()
    for host in ["a", "b", "a", "c"] {
      #expect(engine.start(.to(authority: host)).status == 200)
      engine.advance(by: .seconds(1))
    }
    let open = engine.network.links.map { !$0.isClosed }
    #expect(open == [true, false, true])
  }

  @Test("With no idle connections allowed, each connection carries a single request")
  func noIdleConnections() {
    let engine = VirtualEngine { $0.idleConnections = 0 }
    engine.network.echo()
    for number in 0..<3 { #expect(engine.start(.to("/\(number)")).text == "/\(number)") }
    #expect(engine.network.dials.count == 3 && engine.network.openCount == 0)
  }

  @Test("Requests beyond the connections of a host wait and are served in order")
  func order() {
    let engine = VirtualEngine { $0.connectionsPerHost = 2 }
    var served: [String] = []
    engine.network.serveHTTP1 { server, request in
      served.append(request.target)
      server.respond(request.target, after: .seconds(1))
    }
    let calls = (0..<7).map { engine.submit(.to("/\($0)")) }
    engine.advance(by: .seconds(10))
    #expect(served == (0..<7).map { "/\($0)" })
    #expect(calls.map(\.text) == served)
    #expect(engine.network.mostOpen == 2 && engine.network.dials.count == 2)
  }

  @Test("A request that finds the queue full is refused, and one that finds room waits")
  func fullQueue() {
    let engine = VirtualEngine {
      $0.connectionsPerHost = 1
      $0.maximumQueuedRequests = 2
    }
    engine.network.echo(response: .seconds(1))
    let calls = (0..<4).map { engine.start(.to("/\($0)")) }
    #expect(calls.map(\.words) == ["waiting", "waiting", "waiting", "limit/queue_full"])
    engine.advance(by: .seconds(1))
    let last = engine.start(.to("/4"))
    engine.advance(by: .seconds(3))
    #expect((calls[..<3] + [last]).map(\.text) == ["/0", "/1", "/2", "/4"])
  }

  @Test("A cancelled request leaves the queue, and the others keep their order")
  func cancelledWaiting() {
    let engine = VirtualEngine { $0.connectionsPerHost = 1 }
    var served: [String] = []
    engine.network.serveHTTP1 { server, request in
      served.append(request.target)
      server.respond(request.target, after: .seconds(1))
    }
    let calls = (0..<4).map { engine.start(.to("/\($0)")) }
    engine.cancel(calls[1])
    #expect(calls[1].words == "cancelled/cancelled" && calls[1].error?.requestSent == false)
    engine.advance(by: .seconds(4))
    #expect(served == ["/0", "/2", "/3"])
    #expect(engine.activeJobs == 0)
  }

  @Test("A dial is cancelled with the only request that needs it, and not while another does")
  func cancelledDialing() {
    let engine = VirtualEngine { $0.connectionsPerHost = 1 }
    engine.network.echo(after: .seconds(5))
    let first = engine.start(.to("/1")), second = engine.start(.to("/2"))
    engine.cancel(first)
    #expect(engine.network.cancelledDials == 0)
    engine.advance(by: .seconds(5))
    #expect(first.words == "cancelled/cancelled" && second.text == "/2")
    engine.advance(by: .seconds(61))
    let third = engine.start(.to("/3"))
    engine.cancel(third)
    #expect(engine.network.cancelledDials == 1)
    engine.advance(by: .seconds(30))
    #expect(engine.network.openCount == 0 && engine.network.links.count == 1)
  }

  @Test("Cancelling a running request closes its connection")
  func cancelledRunning() {
    let engine = VirtualEngine()
    engine.network.serveHTTP1 { _, _ in }
    let call = engine.start(.to())
    engine.cancel(call)
    #expect(call.words == "cancelled/cancelled" && call.error?.requestSent == true)
    #expect(engine.network.openCount == 0 && engine.activeJobs == 0)
  }

  @Test("A shutdown that waits lets running requests end and closes their connections")
  func shutDown() {
    let engine = VirtualEngine()
    engine.network.echo(response: .seconds(1))
    let call = engine.start(.to("/last"))
    engine.shutDown(cancelling: false)
    let late = engine.submit(.to("/late"))
    engine.settle()
    #expect(late.words == "cancelled/shut_down")
    engine.advance(by: .seconds(1))
    #expect(call.text == "/last")
    #expect(engine.network.openCount == 0)
    #expect(engine.submit(.to()).words == "cancelled/shut_down")
  }

  @Test("Shutting an engine down fails running and waiting requests, and releases it with its links")
  func released() {
    weak var network: MemoryNetwork?
    weak var server: MemoryHTTP1Server?
    weak var job: EngineJob?
    do {
      let engine = VirtualEngine { $0.connectionsPerHost = 1 }
      engine.network.serveHTTP1 { found, _ in server = found }
      let calls = [engine.start(.to()), engine.start(.to())]
      #expect(server != nil && engine.network.openCount == 1)
      (network, job) = (engine.network, calls[0].job)
      engine.shutDown()
      #expect(calls.map(\.words) == ["cancelled/shut_down", "cancelled/shut_down"])
    }
    #expect(network == nil && server == nil && job == nil)
  }
}
