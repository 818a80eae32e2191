// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroTesting
import LastroWire
import TestSupport
import Testing

@testable import LastroCurl
@testable import LastroHTTP

/// Requests that several loops share.
@Suite("Sharing between loops", .timeLimit(.minutes(15)))
struct HomeLoopTests {
  /// The host names that all resolve to one server.
  private static let names = (0..<24).map { "h\($0).test" }

  private static func engine(
    _ server: LoopbackServer, loops: Int, _ edit: (inout CurlConfiguration) -> Void = { _ in }
  ) throws -> CurlTransport {
    try .with {
      $0.loops = loops
      $0.connection.proxy = .none
      $0.connection.resolutions = names.map { .init(host: $0, port: server.port, addresses: ["127.0.0.1"]) }
      edit(&$0)
    }
  }

  private static func outcome(
    _ engine: CurlTransport, _ server: LoopbackServer, _ name: String = names[0],
    _ edit: (inout TransferRequest) -> Void = { _ in }
  ) async -> Outcome {
    await engine.outcome(server) {
      $0.head.authority = "\(name):\(server.port)"
      edit(&$0)
    }
  }

  private static func homes(_ engine: CurlTransport, _ server: LoopbackServer, _ name: String = names[0]) -> HomeLoops {
    let head = HTTPRequest(method: .get, scheme: "http", authority: "\(name):\(server.port)", path: "/")
    return HomeLoops(of: engine.poolKey(of: head, nil), among: engine.loops.count)
  }

  /// Returns a server whose responses wait for a gate.
  private static func server(waitingFor gate: LoopbackGate) throws -> LoopbackServer {
    try LoopbackServer { connection in
      while try connection.readRequest() != nil {
        connection.wait(for: gate)
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
      }
    }
  }

  @Test(
    "Requests reuse the connections of earlier requests, whatever the number of loops", arguments: [1, 2, 5])
  func home(loops: Int) async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let engine = try Self.engine(server, loops: loops)
    for _ in 0..<4 {
      for name in Self.names { #expect(await Self.outcome(engine, server, name) == .answered(200, "fine")) }
    }
    #expect(server.acceptedConnections == Self.names.count)
    #expect(engine.openedConnections == Self.names.count)
  }

  @Test("Each loop holds the connections of the hosts that have it as home")
  func spread() async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    // With more than two loops, the server's port may leave one loop without a host.
    let engine = try Self.engine(server, loops: 2)
    for name in Self.names { #expect(await Self.outcome(engine, server, name) == .answered(200, "fine")) }
    for (number, loop) in engine.loops.enumerated() {
      let expected = Self.names.count { Self.homes(engine, server, $0).home == number }
      #expect(loop.port.openedConnections == expected && expected > 0)
    }
  }

  @Test("The second choice takes requests when the home loop has 64 more of them")
  func overflow() async throws {
    let gate = try LoopbackGate()
    let server = try Self.server(waitingFor: gate)
    let engine = try Self.engine(server, loops: 3)
    let homes = Self.homes(engine, server)
    await withTaskGroup(of: Outcome.self) { group in
      for number in 1...70 {
        group.addTask { await Self.outcome(engine, server) }
        #expect(await eventually { engine.activeTransfers == number })
      }
      #expect(engine.loops[homes.home].port.activeJobs == 67)
      #expect(engine.loops[homes.second].port.activeJobs == 3)
      gate.open()
      for await outcome in group { #expect(outcome == .answered(200, "fine")) }
    }
    #expect(await eventually { engine.loops.allSatisfy { $0.port.activeJobs == 0 } })
  }

  @Test("Home and second choice together never exceed the connection limit of a host", arguments: [2, 3, 8, 32])
  func connectionLimit(limit: Int) async throws {
    let gate = try LoopbackGate()
    let server = try Self.server(waitingFor: gate)
    let engine = try Self.engine(server, loops: 4) { $0.connectionsPerHost = limit }
    await withTaskGroup(of: Outcome.self) { group in
      for _ in 0..<200 { group.addTask { await Self.outcome(engine, server) } }
      #expect(await eventually { engine.activeTransfers == 200 && server.requests.count == limit })
      gate.open()
      for await outcome in group { #expect(outcome == .answered(200, "fine")) }
    }
    #expect(server.acceptedConnections == limit)
  }

  @Test("The queue limit counts waiting requests over all loops")
  func queueLimit() async throws {
    let gate = try LoopbackGate()
    let server = try Self.server(waitingFor: gate)
    let engine = try Self.engine(server, loops: 2) {
      $0.connectionsPerHost = 1
      $0.maximumQueuedRequests = 3
    }
    let one = Self.names[0], home = Self.homes(engine, server, one).home
    let other = try #require(Self.names.first { Self.homes(engine, server, $0).home != home })
    let group = try #require(engine.loops[0].port.reference.group)
    await withTaskGroup(of: Outcome.self) { tasks in
      for name in [one, other] { tasks.addTask { await Self.outcome(engine, server, name) } }
      #expect(await eventually { server.requests.count == 2 })
      for name in [one, other, one] { tasks.addTask { await Self.outcome(engine, server, name) } }
      #expect(await eventually { group.queued == 3 })
      for name in [one, other] { #expect(await Self.outcome(engine, server, name) == .failed("limit/queue_full")) }
      gate.open()
      for await outcome in tasks { #expect(outcome == .answered(200, "fine")) }
    }
    #expect(await eventually { group.queued == 0 })
  }

  @Test("The idle limit counts over all loops, and the oldest connection is closed, whichever loop has it")
  func idleLimit() async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let engine = try Self.engine(server, loops: 4) { $0.idleConnections = 5 }
    let group = try #require(engine.loops[0].port.reference.group)
    for (number, name) in Self.names.enumerated() {
      #expect(await Self.outcome(engine, server, name) == .answered(200, "fine"))
      #expect(await eventually { group.idle == min(5, number + 1) && server.openConnections == min(5, number + 1) })
    }
    // Only the latest five connections are still open.
    for name in Self.names.suffix(5) { #expect(await Self.outcome(engine, server, name) == .answered(200, "fine")) }
    #expect(server.acceptedConnections == Self.names.count)
    let gone = Self.names[Self.names.count - 6]
    #expect(await Self.outcome(engine, server, gone) == .answered(200, "fine"))
    #expect(server.acceptedConnections == Self.names.count + 1)
    await engine.shutDown()
    #expect(group.idle == 0 && group.queued == 0)
  }

  @Test("A task on the second choice's thread stays there if a connection is idle", arguments: [false, true])
  func executor(hasBody: Bool) async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let engine = try Self.engine(server, loops: 2)
    let homes = Self.homes(engine, server)
    let second = engine.loops[homes.second], secondPort = try #require(second.secondPort)
    let request = TransferRequest.to(server) { $0.head.authority = "\(Self.names[0]):\(server.port)" }
    let answer = try await secondPort.execute(request, own: nil, asks: .ordinary)
    #expect(answer.body.bytes.map { String(decoding: $0, as: UTF8.self) } == "fine")
    await withTaskExecutorPreference(second.loop) {
      for _ in 0..<3 {
        let outcome = await Self.outcome(engine, server) {
          guard hasBody else { return }
          $0.head.method = .post
          $0.body = .raw("pay")
        }
        #expect(outcome == .answered(200, "fine"))
      }
    }
    #expect(engine.openedConnections == 1 && secondPort.openedConnections == 1)
    // From any other thread the request goes to the home loop, which has no connection yet.
    #expect(await Self.outcome(engine, server) == .answered(200, "fine"))
    #expect(engine.loops[homes.home].port.openedConnections == 1)
  }

  @Test("A task on a loop without an idle connection is sent to the home loop")
  func executorWithoutConnection() async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let engine = try Self.engine(server, loops: 3)
    let homes = Self.homes(engine, server)
    for loop in engine.loops {
      await withTaskExecutorPreference(loop.loop) {
        #expect(await Self.outcome(engine, server) == .answered(200, "fine"))
      }
    }
    #expect(server.acceptedConnections == 1)
    #expect(engine.loops[homes.home].port.openedConnections == 1)
  }

  @Test(
    "With a forward proxy from the engine's or the request's options, all hosts have one home",
    arguments: [false, true])
  func forwardProxy(isRequests: Bool) async throws {
    let proxy = try LoopbackServer.http { .text($0.head["Host"] ?? "") }
    var options = ConnectionOptions()
    options.proxy = .url(proxy.baseURL)
    let engine = try CurlTransport.with { [options] in
      $0.loops = 5
      $0.connection.proxy = .none
      if !isRequests { $0.connection = options }
    }
    for name in Self.names {
      let outcome = await engine.outcome(proxy) { [options] in
        $0.head.authority = name
        if isRequests { $0.connection = options }
      }
      #expect(outcome == .answered(200, name))
    }
    #expect(proxy.acceptedConnections == 1)
  }

  @Test("A request that bypasses the proxy goes to the home of its origin")
  func originsHome() throws {
    func key(_ url: String, _ proxy: ProxyOptions, socket: String? = nil) throws -> UInt64 {
      let engine = try CurlTransport.with {
        $0.connection.proxy = proxy
        $0.connection.unixSocketPath = socket
      }
      return engine.poolKey(of: try ResourceRequest(url: url).head, nil)
    }
    let plain = try key("http://a.test/", .none), secure = try key("https://a.test/", .none)
    let url = "http://proxy.test:3128"
    #expect(try key("http://a.test/", .url(url)) == HomeLoops.key(ofProxy: url))
    #expect(try key("https://a.test/", .url(url)) == secure)
    #expect(try key("http://a.test/", .url(url, bypass: ["a.test"])) == plain)
    #expect(try key("http://a.test/", .url(url), socket: "/run/a.socket") == plain)
    #expect(try key("http://a.test/", .url("socks5h://proxy.test:1080")) == plain)
  }
}
