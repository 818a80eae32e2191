// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroSimulation
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

@Suite("HTTP/2 over links in memory")
struct VirtualHTTP2Tests {
  private func request(_ path: String, _ edit: (inout TransferRequest) -> Void = { _ in }) -> TransferRequest {
    .to(path, scheme: "https", edit)
  }

  @Test("Requests respect the server's stream limit on an open connection", arguments: [1, 2, 100] as [UInt32])
  func warm(streams: UInt32) {
    let engine = VirtualEngine { $0.connectionsPerHost = 1 }
    var servers: [MemoryHTTP2Server] = []
    engine.network.serveHTTP2(streams: streams, made: { servers.append($0) }) { server, request in
      server.respond(request.target, to: request, after: .seconds(1))
    }
    let first = engine.start(request("/first"))
    engine.advance(by: .seconds(1))
    #expect(first.text == "/first")
    let calls = (0..<200).map { engine.submit(request("/\($0)")) }
    engine.advance(by: .seconds(200 / Int(streams) + 1))
    #expect(calls.map(\.text) == (0..<200).map { "/\($0)" })
    #expect(servers.count == 1 && servers[0].refused.isEmpty && servers[0].mostOpen == Int(streams))
    #expect(servers[0].requests.dropFirst().map(\.target) == (0..<200).map { "/\($0)" })
  }

  @Test(
    "Requests on a new connection are all answered, though some are sent before the server's limit is known",
    arguments: [1, 2, 100] as [UInt32], [0, 5])
  func cold(streams: UInt32, settingsDelay: Int) {
    let engine = VirtualEngine { $0.connectionsPerHost = 1 }
    var servers: [MemoryHTTP2Server] = []
    engine.network.serveHTTP2(
      after: .milliseconds(10), streams: streams, settingsAfter: .milliseconds(settingsDelay),
      made: { servers.append($0) }
    ) { server, request in
      server.respond(request.target, to: request, after: .seconds(1))
    }
    let calls = (0..<20).map { engine.submit(request("/\($0)")) }
    engine.advance(by: .seconds(60))
    #expect(calls.map(\.text) == (0..<20).map { "/\($0)" })
    #expect(engine.activeJobs == 0)
    #expect(servers.flatMap(\.requests).count == 20)
    #expect(servers.allSatisfy { $0.mostOpen <= Int(streams) })
  }

  @Test("Requests beyond a server's stream limit open further connections if allowed")
  func moreConnections() {
    let engine = VirtualEngine()
    var servers: [MemoryHTTP2Server] = []
    engine.network.serveHTTP2(streams: 2, made: { servers.append($0) }) { server, request in
      server.respond(request.target, to: request, after: .seconds(1))
    }
    let calls = (0..<6).map { engine.submit(request("/\($0)")) }
    engine.advance(by: .seconds(4))
    #expect(calls.map(\.text) == (0..<6).map { "/\($0)" })
    #expect(servers.count == 3)
  }

  @Test("After GOAWAY, unprocessed requests move to another connection, and the others finish on theirs")
  func goAway() {
    let engine = VirtualEngine { $0.connectionsPerHost = 1 }
    var servers: [MemoryHTTP2Server] = []
    let network = engine.network
    network.serveHTTP2(streams: 2, made: { servers.append($0) }) { server, request in
      server.respond("\(network.links.count) \(request.target)", to: request, after: .seconds(2))
    }
    let first = engine.start(request("/0"))
    engine.advance(by: .seconds(2))
    #expect(first.text == "1 /0")
    let calls = (1...4).map { engine.submit(request("/\($0)", { $0.allowsResend = false })) }
    engine.advance(by: .seconds(1))
    servers[0].goAway(lastStream: 3)
    engine.advance(by: .seconds(10))
    #expect(calls[0].text == "1 /1" || calls[0].text == "2 /1")
    #expect(calls.map { $0.text?.suffix(2) } == ["/1", "/2", "/3", "/4"])
    #expect(calls.map(\.response?.facts.resends) == [0, 1, 0, 0])
    #expect(servers.count == 2)
    #expect(servers[1].requests.map(\.target) == ["/2", "/3", "/4"])
    #expect(engine.network.links[0].isClosed && engine.activeJobs == 0)
  }

  @Test("A GOAWAY behind other frames is read before an idle connection is used again", arguments: [0, 1, 3, 20])
  func goAwayBehindFrames(frames: Int) {
    let engine = VirtualEngine()
    var servers: [MemoryHTTP2Server] = []
    engine.network.serveHTTP2(made: { servers.append($0) }) { server, request in
      server.respond(request.target, to: request)
    }
    #expect(engine.start(request("/first")).text == "/first")
    let link = engine.network.links[0]
    // Over TLS, one read returns one record, and a server writes each frame in a record of its own.
    let ping = LoopbackHTTP2Frame(.ping, stream: 0, payload: Array(repeating: 1, count: 8))
    link.readLimit = ping.bytes.count
    let arriving = Array(repeating: ping, count: frames) + [.goAway(lastStream: 1)]
    link.arrived(arriving.flatMap(\.bytes))
    let second = engine.start(request("/second", { $0.allowsResend = false }))
    #expect(second.text == "/second" && second.response?.facts.resends == 0)
    #expect(servers.map(\.latestStream) == [1, 1], "nothing is sent over the connection that was given up")
  }

  @Test(
    "A new connection that ends before it is used fails one request, for which no other is dialed",
    arguments: [false, true])
  func endsAtOnce(goesAway: Bool) {
    let engine = VirtualEngine()
    let network = engine.network
    network.applicationProtocol = { $0.request.tls?.applicationProtocols.first }
    let frames: [LoopbackHTTP2Frame] = [.settings([]), .goAway(lastStream: 0)]
    network.dialing = { _ in
      .open { link in
        if goesAway { link.arrived(frames.flatMap(\.bytes)) } else { link.ended(.end(isClean: true)) }
      }
    }
    let calls = (0..<3).map { engine.submit(request("/\($0)")) }
    engine.settle()
    #expect(calls.map(\.words) == Array(repeating: "response/http2_failure", count: 3))
    #expect(calls.allSatisfy { $0.error?.requestSent == false })
    #expect(network.dials.count == 3 && network.openCount == 0)
  }

  @Test("A request that a GOAWAY excludes each time before it is written is restarted a limited number of times")
  func unwritten() {
    let engine = VirtualEngine()
    let network = engine.network
    network.applicationProtocol = { $0.request.tls?.applicationProtocols.first }
    let frames: [LoopbackHTTP2Frame] = [.settings([]), .goAway(lastStream: 0)]
    network.dialing = { _ in
      .open { link in
        link.writing = { [unowned link] in
          link.arrived(frames.flatMap(\.bytes))
          return .failed
        }
      }
    }
    let call = engine.start(request("/"))
    #expect(call.words == "response/http2_failure" && call.error?.requestSent == false)
    #expect(network.dials.count == HostPool.mostRestarts + 1 && network.openCount == 0)
  }

  @Test("A server that ends its connections without allowing a request is not dialed indefinitely")
  func allowsNothing() {
    let engine = VirtualEngine()
    engine.network.serveHTTP2(streams: 0, made: { $0.far.end(after: .seconds(1)) }) { _, _ in }
    let call = engine.start(request("/"))
    engine.advance(by: .seconds(10))
    #expect(call.words == "response/connection_lost" && call.error?.requestSent == false)
    // On the first connection the request was sent before the server's limit arrived, and was refused.
    #expect(engine.network.dials.count == 2 && engine.network.openCount == 0)
  }

  @Test("A silent server is sent a PING with the next request, and gets no other until it replies")
  func liveness() {
    let engine = VirtualEngine()
    var servers: [MemoryHTTP2Server] = []
    let network = engine.network
    network.serveHTTP2(made: { servers.append($0) }) { server, request in
      if network.links.count == 1, server.requests.count > 1 { return }
      server.respond(request.target, to: request)
    }
    #expect(engine.start(request("/0")).text == "/0")
    engine.advance(by: .seconds(10))
    servers[0].answersPings = false
    let pings = servers[0].pings
    let silent = engine.start(request("/1"))
    #expect(servers[0].pings == pings + 1)
    engine.advance(by: .seconds(9))
    _ = engine.start(request("/2"))
    #expect(servers.count == 1)
    engine.advance(by: .seconds(1))
    #expect(silent.words == "waiting")
    #expect(engine.start(request("/3")).text == "/3")
    #expect(servers.count == 2)
  }

  @Test("A connection that can deliver nothing is dead when its PING is not answered in time")
  func deadConnection() {
    let engine = VirtualEngine()
    var servers: [MemoryHTTP2Server] = []
    engine.network.serveHTTP2(made: { servers.append($0) }) { server, request in
      server.respond(request.target, to: request)
    }
    #expect(engine.start(request("/0")).text == "/0")
    engine.advance(by: .seconds(10))
    engine.network.links[0].far.accepts = false
    let post = engine.start(.to("/1", .post, scheme: "https", body: RequestBody(source: .bytes(Data("b".utf8)))))
    engine.advance(by: .seconds(10) - .nanoseconds(1))
    #expect(post.words == "waiting")
    engine.advance(by: .nanoseconds(1))
    #expect(post.error?.code == .connectionLost && post.error?.requestSent == true, "\(post.words)")
    #expect(engine.network.openCount == 0)
    #expect(engine.start(request("/2")).text == "/2")
  }

  @Test("After a request times out its server is sent a PING, and new requests go elsewhere until it replies")
  func probe() {
    let engine = VirtualEngine()
    var servers: [MemoryHTTP2Server] = []
    engine.network.serveHTTP2(made: { servers.append($0) }) { server, request in
      if request.target != "/late" { server.respond(request.target, to: request) }
    }
    #expect(engine.start(request("/0")).text == "/0")
    let late = engine.start(request("/late") { $0.idleTimeout = .seconds(2) })
    servers[0].answersPings = false
    let pings = servers[0].pings
    engine.advance(by: .seconds(2))
    #expect(late.words == "timeout/idle_timeout" && servers[0].pings == pings + 1)
    #expect(engine.start(request("/1")).text == "/1")
    #expect(servers.count == 2)
    engine.advance(by: .seconds(1))
    #expect(engine.network.links[0].isClosed && !engine.network.links[1].isClosed)
  }

  @Test("After HTTP_1_1_REQUIRED the request, and those of the next five minutes, are sent over HTTP/1.1")
  func http11Required() {
    let engine = VirtualEngine()
    let network = engine.network
    network.applicationProtocol = { $0.request.tls?.applicationProtocols.first }
    network.dialing = { _ in
      .open { link in
        if link.facts.applicationProtocol == "h2" {
          _ = MemoryHTTP2Server(link.far) { server, request in server.reset(request, .http11Required) }
        } else {
          _ = MemoryHTTP1Server(link.far) { server, request in server.respond("1.1 \(request.target)") }
        }
      }
    }
    let offers = { network.dials.map { $0.request.tls?.applicationProtocols.first } }
    #expect(engine.start(request("/1")).text == "1.1 /1")
    #expect(engine.start(request("/2")).text == "1.1 /2")
    #expect(offers() == ["h2", "http/1.1"])
    engine.advance(by: .seconds(301))
    #expect(engine.start(request("/3")).text == "1.1 /3")
    #expect(offers() == ["h2", "http/1.1", "h2", "http/1.1"])
  }

  @Test("Requests that share a dial are each served if the server selects HTTP/1.1")
  func choosesHTTP1() {
    let engine = VirtualEngine()
    engine.network.applicationProtocol = { _ in "http/1.1" }
    engine.network.echo(after: .seconds(1), response: .seconds(1))
    let calls = (0..<5).map { engine.submit(request("/\($0)")) }
    engine.settle()
    #expect(engine.network.dials.count == 1)
    engine.advance(by: .seconds(5))
    #expect(calls.map(\.text) == (0..<5).map { "/\($0)" })
    #expect(calls.allSatisfy { $0.response?.facts.httpVersion == "1.1" })
    #expect(engine.network.dials.count == 5)
  }

  @Test("A failed dial fails every request that shared it, and none that came later")
  func sharedFailure() {
    let engine = VirtualEngine()
    let network = engine.network
    let refusal = TransportError(stage: .connect, code: .connectFailed, message: "refused", hint: "listen")
    network.serveHTTP2 { server, request in server.respond(request.target, to: request) }
    let opening = network.dialing
    network.dialing = { network.dials.count == 1 ? .failed(refusal, after: .seconds(2)) : opening($0) }
    let early = (0..<3).map { engine.submit(request("/\($0)")) }
    engine.advance(by: .seconds(1))
    let late = engine.start(request("/late"))
    engine.advance(by: .seconds(1))
    #expect(early.map(\.words) == Array(repeating: "connect/connect_failed", count: 3))
    #expect(late.text == "/late")
  }

  @Test("Cancelling a request resets only its stream")
  func cancelled() {
    let engine = VirtualEngine()
    var servers: [MemoryHTTP2Server] = []
    engine.network.serveHTTP2(made: { servers.append($0) }) { server, request in
      server.respond(request.target, to: request, after: .seconds(1))
    }
    let calls = (0..<3).map { engine.submit(request("/\($0)")) }
    engine.settle()
    engine.cancel(calls[1])
    engine.advance(by: .seconds(1))
    #expect(calls.map(\.words) == ["200", "cancelled/cancelled", "200"])
    #expect(servers[0].resets == [3] && engine.network.openCount == 1)
  }

  @Test("A response that is refused in its body is not read further, and others that arrived with it are whole")
  func refusedBody() {
    let engine = VirtualEngine()
    engine.network.serveHTTP2 { server, request in
      guard server.requests.count == 2 else { return }
      let streams = server.requests.map(\.stream)
      let frames: [MemoryHTTP2Server.Frame] = [
        .head(200, stream: streams[0]), .head(200, stream: streams[1]), .data("large".utf8, stream: streams[0]),
        .data("more".utf8, stream: streams[0], ends: true), .data("fine".utf8, stream: streams[1], ends: true),
      ]
      server.far.send(frames.flatMap(\.bytes))
    }
    let large = engine.submit(request("/large") { $0.delivery = .collected(maximumBytes: 3) })
    let fine = engine.submit(request("/fine"))
    engine.settle()
    #expect(large.words == "limit/body_too_large" && fine.text == "fine")
    #expect(engine.activeJobs == 0 && engine.network.openCount == 1)
  }

  @Test("The deadline of a request over HTTP/2 resets its stream, and a queued request ends at its deadline")
  func deadlines() {
    let engine = VirtualEngine { $0.connectionsPerHost = 1 }
    var servers: [MemoryHTTP2Server] = []
    engine.network.serveHTTP2(streams: 1, made: { servers.append($0) }) { server, request in
      if request.target == "/ok" { server.respond("ok", to: request) }
    }
    #expect(engine.start(request("/ok")).text == "ok")
    let running = engine.start(request("/1") { $0.deadline = .seconds(5) })
    let queued = engine.start(request("/2") { $0.deadline = .seconds(3) })
    engine.advance(by: .seconds(3))
    #expect(queued.words == "timeout/total_timeout" && queued.error?.requestSent == false)
    engine.advance(by: .seconds(2) - .nanoseconds(1))
    #expect(running.words == "waiting")
    engine.advance(by: .nanoseconds(1))
    #expect(running.words == "timeout/total_timeout" && running.error?.requestSent == true)
    #expect(servers[0].requests.map(\.target) == ["/ok", "/1"])
    #expect(engine.activeJobs == 0)
  }

  @Test("With no idle connections allowed, one that opens after its request was served elsewhere is closed")
  func unwanted() {
    let engine = VirtualEngine { $0.idleConnections = 0 }
    let network = engine.network
    network.applicationProtocol = { $0.request.tls?.applicationProtocols.first }
    network.dialing = { _ in
      .open(after: network.dials.count == 1 ? .zero : .seconds(2)) { link in
        _ = MemoryHTTP2Server(link.far, streams: 2) { server, request in
          server.respond(request.target, to: request, after: .seconds(request.target == "/0" ? 3 : 1))
        }
      }
    }
    let calls = (0..<3).map { engine.submit(request("/\($0)")) }
    engine.advance(by: .seconds(2))
    #expect(network.links.map(\.isClosed) == [false, true])
    engine.advance(by: .seconds(1))
    #expect(calls.map(\.text) == ["/0", "/1", "/2"])
    #expect(network.openCount == 0 && network.dials.count == 2)
  }

  @Test("A connection is closed at the end of its idle time, and takes no request after its lifetime")
  func lifetimes() {
    let engine = VirtualEngine {
      $0.idleLifetime = .seconds(10)
      $0.connectionLifetime = .seconds(20)
    }
    engine.network.serveHTTP2 { server, request in server.respond(request.target, to: request) }
    for number in 0..<4 {
      #expect(engine.start(request("/\(number)")).text == "/\(number)")
      engine.advance(by: .seconds(5))
    }
    #expect(engine.network.dials.count == 1)
    #expect(engine.start(request("/late")).text == "/late")
    #expect(engine.network.dials.count == 2 && engine.network.openCount == 1)
    engine.advance(by: .seconds(10) - .nanoseconds(1))
    #expect(engine.network.openCount == 1)
    engine.advance(by: .nanoseconds(1))
    #expect(engine.network.openCount == 0)
  }

  // MARK: Extended CONNECT

  private func tunnel() -> TransferRequest {
    .to("/socket", .connect, scheme: "https") {
      $0.head.extendedConnectProtocol = "websocket"
      $0.isTunnel = true
    }
  }

  @Test("HTTP_1_1_REQUIRED for an extended CONNECT leaves the other requests of the host on HTTP/2")
  func refusedTunnel() {
    let engine = VirtualEngine()
    engine.network.applicationProtocol = { $0.request.tls?.applicationProtocols.first }
    engine.network.dialing = { _ in
      .open { link in
        _ = MemoryHTTP2Server(link.far, tunnels: true) { server, request in
          if request.method == "CONNECT" { return server.reset(request, .http11Required) }
          server.respond(request.target, to: request)
        }
      }
    }
    let socket = engine.start(tunnel())
    #expect(socket.words == "request/unsupported" && socket.error?.requestSent == false)
    #expect(engine.start(request("/")).text == "/" && engine.network.dials.count == 1)
  }

  @Test(
    "An extended CONNECT that the host does not accept fails at once, although its connections are busy",
    arguments: ["h2", "http/1.1"], [false, true])
  func busyHost(version: String, isQueuedFirst: Bool) {
    let engine = VirtualEngine { $0.connectionsPerHost = 1 }
    engine.network.applicationProtocol = { _ in version }
    engine.network.dialing = { _ in
      .open { link in
        if version == "h2" { _ = MemoryHTTP2Server(link.far, streams: 1) { _, _ in } }
        if version == "http/1.1" { _ = MemoryHTTP1Server(link.far) { _, _ in } }
      }
    }
    let fetch = engine.submit(request("/"))
    if !isQueuedFirst { engine.settle() }
    let socket = engine.start(tunnel())
    #expect(socket.words == "request/unsupported" && socket.error?.requestSent == false)
    #expect(fetch.words == "waiting" && engine.network.dials.count == 1)
  }

  @Test("An extended CONNECT whose connection ends before its SETTINGS is sent over another one", arguments: [2, 100])
  func endsBeforeSettings(count: Int) {
    let engine = VirtualEngine()
    let network = engine.network
    network.applicationProtocol = { $0.request.tls?.applicationProtocols.first }
    network.dialing = { _ in
      .open { link in
        guard network.dials.count > count else { return link.far.end(after: .seconds(1)) }
        _ = MemoryHTTP2Server(link.far, tunnels: true) { server, request in
          server.respond("no", to: request, status: 403)
        }
      }
    }
    let socket = engine.start(tunnel())
    engine.advance(by: .seconds(60))
    let mostDials = HostPool.mostRestarts + 1
    #expect(socket.words == (count < mostDials ? "403" : "response/http2_failure"))
    #expect(socket.error?.requestSent != true && network.dials.count == min(count + 1, mostDials))
  }

  @Test("An extended CONNECT to a server that breaks HTTP/2 before its SETTINGS is not repeated")
  func breaksBeforeSettings() {
    let engine = VirtualEngine()
    engine.network.applicationProtocol = { $0.request.tls?.applicationProtocols.first }
    let ping = LoopbackHTTP2Frame(.ping, stream: 0, payload: Array(repeating: 1, count: 8))
    engine.network.dialing = { _ in .open { link in link.far.send(ping.bytes) } }
    let socket = engine.start(tunnel())
    #expect(socket.words == "response/http2_failure" && socket.error?.requestSent == false)
    #expect(engine.network.dials.count == 1)
  }
}
