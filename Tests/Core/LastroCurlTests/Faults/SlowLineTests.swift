// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroHTTP
import LastroSupport
import TestSupport
import Testing

@testable import LastroCurl
@testable import LastroTesting

/// Servers that read slowly or not at all. Their receive buffers are small and they read in small steps, so the whole
/// body is in the client's kernel at once, as on a slow line.
@Suite("Faults: slow networks and stalled servers", .replayed, .timeLimit(.minutes(15)))
struct SlowLineTests {
  /// A body smaller than the kernel's buffers, so that the last write completes long before the last byte has left.
  private static let body = [UInt8](repeating: 7, count: 120_000)
  private static let second = HTTP2Time.second

  private func engine(_ adapt: (inout CurlConfiguration) -> Void = { _ in }) throws -> any LinkedEngine {
    try LinkKind.current.engine {
      $0.loops = 1
      $0.connection.httpVersion = .http2
      adapt(&$0)
    }
  }

  private func put(_ request: inout TransferRequest, idle: Duration?) {
    request.body = .raw(Self.body)
    request.idleTimeout = idle
    request.deadline = .seconds(200)
  }

  /// Returns a server that lets the client send everything at once and grants no credit later, so that it sends nothing
  /// while it reads.
  private func server(
    _ script: @escaping @Sendable (LoopbackHTTP2Connection) throws -> Void
  ) throws -> LoopbackServer {
    var settings = LoopbackHTTP2Settings()
    settings.initialWindow = 1 << 30
    settings.maximumConcurrentStreams = 250
    settings.replenishesWindows = false
    let server = try LoopbackServer.http2Script(settings: settings) { http2 in
      try http2.write(.windowUpdate(1 << 30, stream: 0))
      try script(http2)
    }
    server.limitReceiveBuffers(to: 8 << 10)
    return server
  }

  // MARK: idle limits

  @Test("An upload over HTTP/1.1 outlasts its idle limit while the server's kernel acknowledges it")
  func uploadHTTP1() async throws {
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      var left = Self.body.count
      while left > 0, connection.pause(.milliseconds(500)) { left -= max(1, connection.read(max: .max).count) }
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
      _ = connection.readToEnd()
    }
    server.limitReceiveBuffers(to: 8 << 10)
    let outcome = try await engine { $0.connection.httpVersion = .http1 }.outcome(server, method: .put) {
      put(&$0, idle: .seconds(3))
    }
    #expect(outcome == .answered(200, "fine"))
  }

  @Test("An upload over HTTP/2 outlasts its idle limit, and the PING of a request beside it, while it is acknowledged")
  func uploadHTTP2() async throws {
    let engine = try engine {
      $0.engine.http2Liveness.silence = Self.second / 2
      $0.engine.http2Liveness.answer = 3 * Self.second
    }
    let server = try server { http2 in
      while let frame = try http2.readFrame() {
        if frame.kind == .data { http2.connection.pause(.milliseconds(900)) }
        try http2.handle(frame)
        while let request = http2.nextRequest() { try http2.respond(to: request, with: .text("fine")) }
      }
    }
    async let upload = engine.outcome(server, method: .put) { put(&$0, idle: .seconds(3)) }
    try await server.waitForRequests(count: 1)
    // Only a sleep can show that the connection has been silent.
    try await Task.sleep(for: .seconds(1))
    let beside = await engine.outcome(server, "/beside") { $0.deadline = .seconds(200) }
    #expect(await upload == .answered(200, "fine"))
    #expect(beside == .answered(200, "fine"))
    #expect(server.acceptedConnections == 1)
  }

  @Test("An upload ends with its idle limit when the server's kernel acknowledges nothing more", arguments: [1, 2])
  func stuck(version: Int) async throws {
    let other = try LoopbackServer { connection in
      _ = try connection.readHead()
      connection.stall()
    }
    other.limitReceiveBuffers(to: 8 << 10)
    let server = version == 1 ? other : try server { $0.connection.stall() }
    let engine = try engine { if version == 1 { $0.connection.httpVersion = .http1 } }
    let outcome = await engine.outcome(server, method: .put) { put(&$0, idle: .seconds(2)) }
    #expect(outcome == .failed("timeout/idle_timeout"))
  }

  @Test("The idle limit of a request with a body starts when its last byte is handed to the socket")
  func limitOnce() async throws {
    let server = try server { http2 in
      while let request = try http2.readRequest() {
        if request.path == "/first" { try http2.respond(to: request, with: .text("fine")) }
      }
    }
    let engine = try engine()
    // The connection is open already, because a slow dial would leave too little of the deadline.
    #expect(await engine.outcome(server, "/first") == .answered(200, "fine"))
    let outcome = await engine.outcome(server, "/second", method: .post) {
      $0.body = .raw([UInt8](repeating: 7, count: 1_000))
      $0.idleTimeout = .seconds(4)
      $0.deadline = .seconds(7)
    }
    #expect(outcome == .failed("timeout/idle_timeout"))
  }

  // MARK: PING

  /// Returns a server that stops reading after the first request until a gate opens. Its kernel still acknowledges the
  /// received bytes.
  private func standing(_ gate: LoopbackGate) throws -> LoopbackServer {
    try server { http2 in
      while let request = try http2.readRequest() {
        if http2.connection.number == 1, request.path == "/first" { http2.connection.wait(for: gate) }
        try http2.respond(to: request, with: .text("fine"))
      }
    }
  }

  @Test("A server that stalls for longer than a PING may take keeps its calls, and gets no new ones")
  func standsStill() async throws {
    let engine = try engine {
      $0.engine.http2Liveness.silence = Self.second / 2
      $0.engine.http2Liveness.answer = Self.second
    }
    let gate = try LoopbackGate()
    let server = try standing(gate)
    async let first = engine.outcome(server, "/first", method: .post) { $0.deadline = .seconds(200) }
    try await server.waitForRequests(count: 1)
    // Only a sleep can show that the connection is silent and that a PING is not answered in time.
    try await Task.sleep(for: .seconds(1))
    async let second = engine.outcome(server, "/second") { $0.deadline = .seconds(200) }
    async let third = engine.outcome(server, "/third") { $0.idleTimeout = .seconds(5) }
    #expect(await eventually { engine.activeTransfers == 3 })
    try await Task.sleep(for: .seconds(3))
    #expect(await engine.outcome(server, "/new") { $0.deadline = .seconds(60) } == .answered(200, "fine"))
    #expect(await third == .failed("timeout/idle_timeout"))
    gate.open()
    #expect(await first == .answered(200, "fine"))
    #expect(await second == .answered(200, "fine"))
    #expect(server.requests.first { $0.path == "/new" }?.connection == 2)
  }

  @Test("A server whose kernel does not acknowledge the PING either is dead, and its calls fail")
  func isDead() async throws {
    let engine = try engine {
      $0.engine.http2Liveness.silence = Self.second / 2
      $0.engine.http2Liveness.answer = Self.second
    }
    let begun = EventRecorder<Int>()
    let server = try server { http2 in
      _ = try http2.readFrame()
      begun.record(1)
      http2.connection.stall()
    }
    async let upload = engine.outcome(server, method: .put) { put(&$0, idle: nil) }
    // A connection is accepted before its client speaks. From the client's first frame on, the upload is under way.
    try await begun.waitForEvents(count: 1)
    try await Task.sleep(for: .seconds(1))
    let beside = await engine.outcome(server, "/beside", method: .post) { $0.deadline = .seconds(200) }
    #expect(beside == .failed("response/connection_lost"))
    #expect(await upload == .failed("response/connection_lost"))
  }

  // MARK: streams of a host

  @Test("A hundred event streams to a host leave room for short requests")
  func eventStreams() async throws {
    let engine = try engine()
    let server = try server { http2 in
      while let request = try http2.readRequest(), let stream = request.stream {
        if request.path == "/events" {
          try http2.write(.head(200, ["content-type": "text/event-stream"], stream: stream))
        } else {
          try http2.respond(to: request, with: .text("fine"))
        }
      }
    }
    var events: [TransferResponse] = []
    for _ in 0..<100 {
      events.append(
        try await engine.execute(
          .to(server, "/events") {
            $0.delivery = .streamed(maximumBytes: nil)
            $0.deadline = .seconds(200)
          }))
    }
    let outcome = await engine.outcome(server, "/short", method: .post) { $0.deadline = .seconds(20) }
    #expect(outcome == .answered(200, "fine"))
    #expect(events.count == 100 && server.acceptedConnections <= 2)
  }
}
