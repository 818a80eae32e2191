// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Dispatch
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroCurl

/// Requests that wait for a connection while a dial through a proxy is blocked.
@Suite("Waiting requests", .timeLimit(.minutes(15)))
struct WaitingRequestsTests {
  private let lab: TestAuthority
  /// The signal that unblocks the blocked dial.
  private let goesOn = DispatchSemaphore(value: 0)

  init() throws { lab = try TestAuthority() }

  /// Returns a proxy that blocks one dial.
  private func proxy(holding held: Int) throws -> LoopbackServer {
    let dials = EventRecorder<Int>()
    return try LoopbackServer.tunnel { [goesOn] _ in
      if dials.record(1) + 1 == held { goesOn.wait() }
      return nil
    }
  }

  private func engine(_ proxy: LoopbackServer, connections: Int) throws -> CurlTransport {
    var configuration = CurlConfiguration()
    configuration.connection.httpVersion = .http1
    configuration.connection.tls.roots = .pem(Array(lab.authority.rootPEM.utf8))
    configuration.connection.proxy = .url("http://127.0.0.1:\(proxy.port)")
    configuration.connectionsPerHost = connections
    return try CurlTransport(configuration)
  }

  private func outcome(
    _ engine: CurlTransport, _ server: LoopbackServer, _ path: String,
    _ edit: (inout TransferRequest) -> Void = { _ in }
  ) async -> Outcome {
    await engine.outcome(server, path) {
      $0.head.authority = "localhost:\(server.port)"
      edit(&$0)
    }
  }

  @Test("A request that needs a fresh connection does not delay those that do not")
  func besideFresh() async throws {
    let both = try LoopbackGate()
    let paths = EventRecorder<String>()
    let server = try LoopbackServer(tls: lab.tls("localhost")) { connection in
      while let request = try connection.readRequest() {
        let earlier = paths.record(request.target)
        if request.target == "/lost", !paths.events.prefix(earlier).contains("/lost") { return connection.close() }
        if request.target == "/pair", paths.events.filter({ $0 == "/pair" }).count == 2 { both.open() }
        if request.target == "/pair" { connection.wait(for: both) }
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
      }
    }
    let proxy = try proxy(holding: 3)
    let engine = try engine(proxy, connections: 2)
    await withTaskGroup(of: Outcome.self) { group in
      for _ in 0..<2 { group.addTask { await outcome(engine, server, "/pair") } }
      for await outcome in group { #expect(outcome == .answered(200, "fine")) }
    }
    async let lost = outcome(engine, server, "/lost")
    try await proxy.waitForRequests(count: 3)
    #expect(await outcome(engine, server, "/quick") == .answered(200, "fine"))
    goesOn.signal()
    #expect(await lost == .answered(200, "fine"))
  }

  @Test("A request keeps its own connect limit when it waits for a dial that another request started")
  func dialOfAnother() async throws {
    let first = try LoopbackGate(), second = try LoopbackGate()
    let server = try LoopbackServer(tls: lab.tls("localhost")) { connection in
      while let request = try connection.readRequest() {
        connection.wait(for: request.target == "/first" ? first : second)
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
      }
    }
    let proxy = try proxy(holding: 2)
    let engine = try engine(proxy, connections: 2)
    async let one = outcome(engine, server, "/first")
    try await server.waitForRequests(count: 1)
    async let other = outcome(engine, server, "/second")
    try await proxy.waitForRequests(count: 2)
    // The second request uses the connection that the first one frees; its own dial is still blocked.
    first.open()
    #expect(await one == .answered(200, "fine"))
    try await server.waitForRequests(count: 2)
    let late = await outcome(engine, server, "/late") { $0.connectTimeout = .milliseconds(100) }
    #expect(late == .failed("timeout/connect_timeout"))
    goesOn.signal()
    second.open()
    #expect(await other == .answered(200, "fine"))
  }
}
