// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Servers that send bytes without end, as fast as the client reads, that never form an answer. In the meantime the
/// loop must serve other work: requests to other hosts, time limits, cancellations. The flood runs until the test ends
/// it.
@Suite("Faults: floods", .overEachLink, .timeLimit(.minutes(15)))
struct FloodTests {
  /// The bytes that the server sends once, and the piece that it then repeats.
  struct Flood: Sendable, CustomTestStringConvertible {
    var name: String
    var start: [UInt8] = []
    var piece: [UInt8]

    init(_ name: String, start: [LoopbackHTTP2Frame] = [], _ frame: LoopbackHTTP2Frame) {
      self.name = name
      self.start = start.flatMap(\.bytes)
      piece = frame.bytes
    }

    init(_ name: String, start: String, _ piece: String) {
      self.name = name
      self.start = Array(start.utf8)
      self.piece = Array(piece.utf8)
    }

    var testDescription: String { name }

    func run(on connection: LoopbackConnection) throws {
      try connection.write(start)
      var block: [UInt8] = []
      while block.count < 64 * 1024 { block += piece }
      while true { try connection.write(block) }
    }
  }

  static let frames: [Flood] = {
    func frame(
      _ kind: LoopbackHTTP2Frame.Kind, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []
    ) -> LoopbackHTTP2Frame {
      LoopbackHTTP2Frame(kind, flags: flags, stream: stream, payload: payload)
    }
    let head = LoopbackHTTP2Frame.head(200, stream: 1)
    var open = LoopbackHTTP2Frame.head(200, stream: 1)
    open.flags = 0
    return [
      Flood("empty DATA", start: [head], frame(.data, stream: 1)),
      Flood("padding alone", start: [head], frame(.data, flags: LoopbackHTTP2Frame.padded, stream: 1, [2, 0, 0])),
      Flood("interim answers", .head(103, stream: 1)),
      Flood("PRIORITY", frame(.priority, stream: 1, [0, 0, 0, 3, 1])),
      Flood("RST_STREAM of another", .resetStream(.cancel, stream: 3)),
      Flood("SETTINGS", .settings([])),
      Flood("SETTINGS acknowledged", frame(.settings, flags: LoopbackHTTP2Frame.acknowledgement)),
      Flood("PUSH_PROMISE", frame(.pushPromise, flags: LoopbackHTTP2Frame.endHeaders, stream: 1, [0, 0, 0, 2])),
      Flood("PING", frame(.ping, Array(repeating: 1, count: 8))),
      Flood(
        "PING acknowledged", frame(.ping, flags: LoopbackHTTP2Frame.acknowledgement, Array(repeating: 1, count: 8))),
      Flood("GOAWAY", .goAway(lastStream: 1)),
      Flood("WINDOW_UPDATE of the stream", .windowUpdate(1, stream: 1)),
      Flood("WINDOW_UPDATE of the connection", .windowUpdate(1, stream: 0)),
      Flood("CONTINUATION", start: [open], frame(.continuation, stream: 1)),
      Flood("unknown frames", frame(0xee, stream: 1, [1])),
    ]
  }()

  static let lines: [Flood] = [
    Flood("interim answers", start: "", "HTTP/1.1 100 Continue\r\n\r\n"),
    Flood("fields", start: "HTTP/1.1 200 OK\r\n", "X-One: two\r\n"),
    Flood("one field", start: "HTTP/1.1 200 OK\r\nX-One: ", "two"),
    Flood("a chunk's extension", start: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=", "b"),
    Flood("zeros of a chunk's size", start: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "0"),
    Flood("small chunks", start: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n"),
    Flood("trailers", start: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X-One: two\r\n"),
    Flood("empty lines", start: "", "\r\n"),
  ]

  @Test("A flood of HTTP/2 frames over TLS does not harm other requests", arguments: frames)
  func http2(_ flood: Flood) async throws {
    let lab = try HTTP2Servers()
    let server = try LoopbackServer.http2Script(tls: lab.tls()) { connection in
      guard try connection.readRequest() != nil else { return }
      try flood.run(on: connection.connection)
    }
    try await expectWithstood(server, lab)
  }

  /// libcurl offers no way to pause here, so the engine closes the connection and the request fails.
  @Test("A flood of HTTP/2 frames without TLS does not harm other requests", arguments: frames)
  func http2InTheClear(_ flood: Flood) async throws {
    let server = try LoopbackServer.http2Script { connection in
      guard try connection.readRequest() != nil else { return }
      try flood.run(on: connection.connection)
    }
    try await expectWithstood(server, HTTP2Servers()) { $0.connection?.httpVersion = .http2 }
  }

  @Test("A flood of HTTP/1.1 lines does not harm other requests", arguments: lines, [false, true])
  func http1(_ flood: Flood, isTLS: Bool) async throws {
    let lab = try HTTP2Servers()
    let server = try LoopbackServer(tls: isTLS ? lab.tls() : nil) { connection in
      guard try connection.readHead() != nil else { return }
      try flood.run(on: connection)
    }
    try await expectWithstood(server, lab)
  }

  @Test("A flood of TLS messages does not harm other requests", arguments: [false, true])
  func tls(isTicket: Bool) async throws {
    let lab = try HTTP2Servers()
    let server = try LoopbackServer(tls: lab.tls()) { connection in
      guard try connection.readHead() != nil else { return }
      while true { try connection.sendTLSMessage(isTicket: isTicket) }
    }
    try await expectWithstood(server, lab)
  }

  @Test(
    "A flood in a proxy's response to CONNECT does not harm other requests",
    arguments: [
      Flood("fields", start: "HTTP/1.1 200 OK\r\n", "X-One: two\r\n"),
      Flood("a body", start: "HTTP/1.1 407 No\r\nContent-Length: 1000000000000\r\n\r\n", "no"),
      Flood("chunks", start: "HTTP/1.1 407 No\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n"),
    ])
  func connect(_ flood: Flood) async throws {
    let lab = try HTTP2Servers()
    let server = try LoopbackServer.http(tls: lab.tls()) { _ in .text("fine") }
    let proxy = try LoopbackServer { connection in
      guard try connection.readHead() != nil else { return }
      try flood.run(on: connection)
    }
    try await expectWithstood(proxy, lab, target: server) { $0.connection?.proxy = .url(proxy.baseURL) }
    let outcome = await lab.outcome(server) { $0.connection?.proxy = .url(proxy.baseURL) }
    #expect(outcome == .failed("proxy/proxy_refused"))
    let streams = try TrustingEngine { configuration, _ in configuration.connection.proxy = .url(proxy.baseURL) }
    let refusal = await #expect(throws: TransportError.self) { try await streams.dial(server) }
    #expect(refusal?.words == "proxy/proxy_refused")
  }

  /// Runs a request into a flood, and asserts that others are served meanwhile.
  private func expectWithstood(
    _ server: LoopbackServer, _ lab: HTTP2Servers, target: LoopbackServer? = nil,
    adapting adapt: @escaping @Sendable (inout TransferRequest) -> Void = { _ in }
  ) async throws {
    let good = try LoopbackServer.http { _ in .text("fine") }
    let silent = try LoopbackServer { $0.stall() }
    let flooded = Task { await lab.outcome(target ?? server, "/flood", adapting: adapt) }
    let late = Task {
      await lab.outcome(target ?? server, "/late") {
        $0.deadline = .milliseconds(300)
        adapt(&$0)
      }
    }
    try await server.waitForRequests(count: 1)
    for _ in 0..<20 { #expect(await lab.outcome(good) == .answered(200, "fine")) }
    #expect(await lab.outcome(silent) { $0.deadline = .milliseconds(100) } == .failed("timeout/total_timeout"))
    // This request needs a server of its own, because the request before may have ended without a connection.
    let stalling = try LoopbackServer { $0.stall() }
    let cancelled = Task { await lab.outcome(stalling) }
    try await stalling.waitForConnections(count: 1)
    cancelled.cancel()
    #expect(await cancelled.value == .failed("cancelled/cancelled"))
    guard case .failed = await late.value else {
      Issue.record("a flood was accepted as a response")
      return
    }
    // The loop itself has to end the transfers.
    #expect(await eventually { lab.engine.activeTransfers <= 1 })
    flooded.cancel()
    guard case .failed = await flooded.value else {
      Issue.record("a flood was accepted as a response")
      return
    }
    #expect(await eventually { lab.engine.activeTransfers == 0 })
    #expect(await lab.outcome(good) == .answered(200, "fine"))
  }
}
