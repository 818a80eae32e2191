// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroCurl

/// The choice of an HTTP/2 connection for a request, and many requests on one connection.
@Suite("HTTP/2 exchanges", .timeLimit(.minutes(15)))
struct EngineHTTP2Tests {
  private let authority: CertificateAuthority

  init() throws { authority = try CertificateAuthority() }

  private func engine(_ adapt: (inout CurlConfiguration) -> Void = { _ in }) throws -> CurlTransport {
    var configuration = CurlConfiguration()
    configuration.connection.tls.roots = .pem(Array(authority.rootPEM.utf8))
    adapt(&configuration)
    return try CurlTransport(configuration)
  }

  private func tls(_ protocols: [String] = ["h2"]) throws -> LoopbackTLS {
    var tls = LoopbackTLS(try authority.issue(hosts: ["localhost"]))
    tls.applicationProtocols = protocols
    return tls
  }

  private func outcomes(
    _ count: Int, _ engine: CurlTransport, _ server: LoopbackServer, method: HTTPRequest.Method = .get
  ) async -> [Outcome] {
    await withTaskGroup(of: Outcome.self) { group in
      for number in 0..<count {
        group.addTask {
          await engine.outcome(server, "/\(number)", method: method) {
            $0.deadline = .seconds(200)
            if method == .post { $0.body = .raw("pay") }
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }

  // MARK: Which connection

  @Test("Requests to a new host share one dial and its connection", arguments: [false, true])
  func cold(isClear: Bool) async throws {
    let engine = try engine { if isClear { $0.connection.httpVersion = .http2 } }
    let server = try LoopbackServer.http2(tls: isClear ? nil : tls()) { _ in .text("fine") }
    for _ in 0..<2 {
      for outcome in await outcomes(80, engine, server) { #expect(outcome == .answered(200, "fine")) }
    }
    #expect(server.acceptedConnections == 1)
    #expect(server.requests.count == 160)
  }

  @Test("If the server selects HTTP/1.1, each waiting request gets a connection of its own")
  func choosesHTTP1() async throws {
    let engine = try engine()
    let server = try LoopbackServer.http(tls: tls(["http/1.1"])) { .text($0.head.version) }
    for outcome in await outcomes(20, engine, server) { #expect(outcome == .answered(200, "HTTP/1.1")) }
    #expect((1...20).contains(server.acceptedConnections))
  }

  @Test("Requests beyond the engine's stream limit wait for a stream and open no further connection")
  func ownLimit() async throws {
    let engine = try engine { $0.http2StreamsPerHost = 3 }
    let server = try LoopbackServer.http2(tls: tls()) { _ in .text("fine") }
    for outcome in await outcomes(60, engine, server) { #expect(outcome == .answered(200, "fine")) }
    #expect(server.acceptedConnections == 1)
  }

  @Test("A failed dial fails every request that shares it")
  func sharedFailure() async throws {
    var broken = try tls()
    broken.handshakeFault = .resetInHandshake
    let server = try LoopbackServer.http2(tls: broken) { _ in .text("never") }
    let engine = try engine()
    for outcome in await outcomes(40, engine, server) {
      guard case .failed = outcome else {
        Issue.record("\(outcome)")
        continue
      }
    }
    #expect(await eventually { engine.activeTransfers == 0 })
  }

  @Test("A server that sends GOAWAY on every new connection is not dialed indefinitely")
  func goesAwayAtOnce() async throws {
    let engine = try engine()
    let server = try LoopbackServer.http2Script(tls: tls()) { http2 in
      try http2.write(.goAway(lastStream: 0))
      while try http2.readFrame() != nil {}
    }
    let outcome = await engine.outcome(server) { $0.deadline = .seconds(200) }
    #expect(outcome == .failed("response/http2_failure"))
    #expect(server.acceptedConnections < 40)
    #expect(await eventually { engine.activeTransfers == 0 })
  }

  @Test("A response that arrives after the connect limit of its dial is still received", arguments: [false, true])
  func lateAnswer(isHTTP2: Bool) async throws {
    let engine = try engine()
    let gate = try LoopbackGate()
    let server = try LoopbackServer.http2Script(tls: tls()) { http2 in
      while let request = try http2.readRequest() {
        http2.connection.wait(for: gate)
        try http2.respond(to: request, with: .text("fine"))
      }
    }
    let other = try LoopbackServer { connection in
      guard try connection.readHead() != nil else { return }
      connection.wait(for: gate)
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
    }
    let limit = Duration.seconds(10)
    async let outcome = engine.outcome(isHTTP2 ? server : other) {
      $0.connectTimeout = limit
      $0.deadline = .seconds(60)
    }
    try await (isHTTP2 ? server : other).waitForRequests(count: 1)
    // Only a sleep can show that the limit passes without an effect.
    try await Task.sleep(for: limit + .milliseconds(200))
    gate.open()
    #expect(await outcome == .answered(200, "fine"))
  }

  @Test("A server that allows no streams gets one connection, and the request waits until its deadline")
  func noStreams() async throws {
    let engine = try engine()
    var settings = LoopbackHTTP2Settings()
    settings.maximumConcurrentStreams = 0
    let server = try LoopbackServer.http2(tls: tls(), settings: settings) { _ in .text("never") }
    #expect(await engine.outcome(server) { $0.deadline = .seconds(5) } == .failed("timeout/total_timeout"))
    #expect(server.acceptedConnections == 1)
    #expect(server.requests.isEmpty)
  }

  // MARK: Many on one

  @Test("An unread body stalls no other stream, and the server gets no more credit for it")
  func slowReader() async throws {
    let engine = try engine { $0.streamBufferBytes = 64 << 10 }
    let credit = EventRecorder<Int>()
    let server = try LoopbackServer.http2Script(tls: tls()) { http2 in
      guard let stream = try http2.readRequest()?.stream else { return }
      try http2.write(.head(200, stream: stream))
      // Sends as many bytes as the window of a new stream allows.
      for _ in 0..<64 { try http2.write(.data([UInt8](repeating: 7, count: 16_384), stream: stream)) }
      while let frame = try http2.readFrame() {
        if frame.kind == .windowUpdate, frame.stream == stream {
          credit.record(frame.payload.reduce(0) { $0 << 8 | Int($1) })
        }
        guard frame.kind == .headers else { continue }
        try http2.write(.head(200, stream: frame.stream, ends: true))
      }
    }
    let slow = try await engine.execute(
      .to(server, "/slow") {
        $0.delivery = .streamed(maximumBytes: nil)
        $0.deadline = .seconds(200)
      })
    for _ in 0..<50 { #expect(await engine.outcome(server) == .answered(200, "")) }
    // The stream's buffer and one more piece bound the credit.
    #expect(credit.events.reduce(0, +) <= 128 << 10)
    var count = 0
    for try await piece in slow.body {
      count += piece.count
      if count == 1 << 20 { break }
    }
    #expect(count == 1 << 20)
    #expect(server.acceptedConnections == 1)
  }

  @Test("Request and response bodies stream at the same time over one exchange")
  func bothDirections() async throws {
    let engine = try engine()
    var settings = LoopbackHTTP2Settings()
    settings.answersEarly = true
    let server = try LoopbackServer.http2Script(tls: tls(), settings: settings) { http2 in
      guard let stream = try http2.readRequest()?.stream else { return }
      try http2.write(.head(200, stream: stream))
      while let frame = try http2.readFrame() {
        guard frame.kind == .data, frame.stream == stream else { continue }
        let ends = frame.flags & LoopbackHTTP2Frame.endStream != 0
        try http2.write(.data(frame.payload, stream: stream, ends: ends))
      }
    }
    let (source, more) = AsyncStream<Data>.makeStream()
    more.yield(Data("0".utf8))
    let response = try await engine.execute(
      .to(server, method: .post) {
        $0.body = .stream(source)
        $0.delivery = .streamed(maximumBytes: nil)
        $0.deadline = .seconds(200)
      })
    var text = ""
    for try await piece in response.body {
      text += String(decoding: piece, as: UTF8.self)
      if text.count < 10 { more.yield(Data("\(text.count)".utf8)) } else { more.finish() }
    }
    #expect(text == "0123456789")
  }

  @Test(
    "An upload of any size arrives complete, from memory and from a source",
    arguments: [1, 65_535, 65_536, 70_000, 131_071, 3 << 20])
  func upload(count: Int) async throws {
    let engine = try engine()
    let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let server = try LoopbackServer.http2(tls: tls()) { .text("\($0.body.count) \($0.head["content-length"] ?? "-")") }
    let source = { @Sendable in
      AsyncStream {
        $0.yield(bytes)
        $0.finish()
      }
    }
    for (body, length) in [
      (RequestBody(source: .bytes(bytes)), "\(count)"), (.stream(source(), length: Int64(count)), "\(count)"),
      (.stream(source()), "-"),
    ] {
      let outcome = await engine.outcome(server, method: .post) {
        $0.body = body
        $0.deadline = .seconds(200)
      }
      #expect(outcome == .answered(200, "\(count) \(length)"))
    }
    #expect(server.requests.allSatisfy { $0.body == [UInt8](bytes) })
    #expect(server.acceptedConnections == 1)
  }

  @Test("When a connection is lost, each of its requests ends exactly once")
  func loss() async throws {
    let engine = try engine()
    let server = try LoopbackServer.http2Script(tls: tls()) { http2 in
      var count = 0
      while let request = try http2.readRequest() {
        if request.path == "/ok" {
          try http2.respond(to: request, with: .text("fine"))
          continue
        }
        count += 1
        if http2.connection.number == 1, count == 60 { return http2.connection.resetAfterDelivery() }
        if http2.connection.number > 1 { try http2.respond(to: request, with: .text("fine")) }
      }
    }
    #expect(await engine.outcome(server, "/ok") == .answered(200, "fine"))
    async let gets = outcomes(30, engine, server)
    async let posts = outcomes(30, engine, server, method: .post)
    // Idempotent requests are sent again, once, because the connection had served requests before.
    for outcome in await gets { #expect(outcome == .answered(200, "fine")) }
    for outcome in await posts { #expect(outcome == .failed("send/connection_lost"), "\(outcome)") }
    #expect(server.requests.count { $0.method == "POST" } == 30, "nothing is sent twice")
    #expect(await eventually { engine.activeTransfers == 0 })
  }

  @Test("A response is received although the connection is reset while the request is being sent")
  func answerBeforeReset() async throws {
    var settings = LoopbackHTTP2Settings()
    settings.answersEarly = true
    settings.replenishesWindows = false
    let server = try LoopbackServer.http2Script(tls: tls(), settings: settings) { http2 in
      guard let request = try http2.readRequest(), let stream = request.stream else { return }
      // Grants credit, so that the client has room for writes that fail.
      for stream in [0, stream] { try http2.write(.windowUpdate(1 << 20, stream: stream)) }
      for _ in 0..<8 { try http2.write(.windowUpdate(1, stream: 0)) }
      try http2.write(.head(413, stream: stream, ends: true))
      http2.connection.resetAfterDelivery()
    }
    for _ in 0..<10 {
      // Each round has an engine of its own: the reset may arrive while the next request is already in progress.
      let outcome = await (try engine()).outcome(server, "/", method: .post) {
        $0.deadline = .seconds(200)
        $0.body = .raw(Data(repeating: 1, count: 3_000_000))
      }
      #expect(outcome == .answered(413, ""))
    }
  }

  @Test("Many cancellations reset streams and keep the connection")
  func cancellations() async throws {
    let engine = try engine()
    let server = try LoopbackServer.http2(tls: tls()) { $0.path == "/ok" ? .text("fine") : .fault(.stall) }
    #expect(await engine.outcome(server, "/ok") == .answered(200, "fine"))
    for round in 1...8 {
      let tasks = (0..<50).map { number in Task { await engine.outcome(server, "/\(number)") } }
      try await server.waitForRequests(count: 1 + 50 * round)
      for task in tasks { task.cancel() }
      for task in tasks { #expect(await task.value == .failed("cancelled/cancelled")) }
    }
    #expect(await engine.outcome(server, "/ok") == .answered(200, "fine"))
    #expect(server.acceptedConnections == 1)
    #expect(await eventually { engine.activeTransfers == 0 })
  }

  @Test("HTTP_1_1_REQUIRED is remembered: the next request is sent over HTTP/1.1 at once")
  func http1IsRemembered() async throws {
    let engine = try engine()
    let server = try LoopbackServer.http2(tls: tls(["h2", "http/1.1"])) { request in
      request.head.version == "HTTP/2"
        ? .fault(.http2(.resetStream(.http11Required), at: .beforeHeaders)) : .text(request.head.version)
    }
    for _ in 0..<2 {
      let outcome = await engine.outcome(server, method: .post) { $0.body = .raw("pay") }
      #expect(outcome == .answered(200, "HTTP/1.1"))
    }
    #expect(server.requests.map(\.head.version) == ["HTTP/2", "HTTP/1.1", "HTTP/1.1"])
  }
}
