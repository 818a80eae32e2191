// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroHTTP
import LastroTesting
import LastroWebSocket
import TestSupport
import Testing

/// WebSockets as streams of HTTP/2 connections (RFC 8441).
@Suite("WebSocket over HTTP/2", .timeLimit(.minutes(15)))
struct WebSocketTunnelTests {
  private func exchange(_ socket: WebSocket, _ text: String) async throws {
    var messages = socket.messages.makeAsyncIterator()
    try await socket.send(text)
    #expect(try await messages.next() == .text(text))
  }

  @Test("A socket is an extended CONNECT that is sent after the server's settings, and ends with END_STREAM")
  func lifecycle() async throws {
    let server = try TunnelServer(TunnelServer.echo)
    let socket = try await server.connect()
    #expect(socket.response.facts.httpVersion == "2" && socket.response.status == .ok)
    #expect(socket.facts.remotePort == server.loopback.port)
    try await exchange(socket, "hello")
    // An open socket is no running transfer, so that it does not keep a loop from beginning requests at once.
    #expect(server.engine.activeTransfers == 0 && server.engine.openedConnections == 1)
    #expect(try await socket.close().isClean)
    try await server.received.waitForEvents(count: 5)
    #expect(server.received.events == ["ack", "1 4 1 ", "0 0 1 ", "0 0 1 ", "0 1 1 "])
    #expect(server.engine.activeTransfers == 0)
  }

  @Test("The handshake has the fields of an extended CONNECT, and those of the caller")
  func fields() async throws {
    var settings = LoopbackHTTP2Settings()
    settings.others = [.init(8, 1)]
    settings.answersEarly = true
    let loopback = try LoopbackServer.http2(settings: settings) { _ in .text("no", status: 404) }
    let server = try TunnelServer(TunnelServer.echo)
    var client = server.client()
    client.configuration.subprotocols = ["a", "b"]
    client.configuration.compression = .init()
    var request = try server.request()
    request.head.authority = "127.0.0.1:\(loopback.port)"
    request.head.path = "/chat?x=1"
    try request.setHeader("Origin", "https://example.org")
    let error = await #expect(throws: WebSocketError.self) {
      try await client.connect(to: RawHTTPResource.raw(request))
    }
    let failure = try #require(error?.handshakeFailure)
    #expect(failure.statusCode == .notFound && failure.code == .unexpectedStatus && failure.body == Data("no".utf8))
    let head = try #require(loopback.requests.first).head
    let fields = head.fields.map { "\($0.name): \($0.value)" }
    #expect(
      Set(fields).isSuperset(of: [
        ":method: CONNECT", ":protocol: websocket", ":scheme: http", ":path: /chat?x=1",
        ":authority: 127.0.0.1:\(loopback.port)", "sec-websocket-version: 13", "sec-websocket-protocol: a, b",
        "origin: https://example.org",
      ]))
    let names = Set(head.fields.map(\.name))
    #expect(names.contains("sec-websocket-extensions"))
    #expect(
      names.isDisjoint(with: [
        "connection", "upgrade", "sec-websocket-key", "accept-encoding", "content-length", "host",
      ])
    )
  }

  @Test("A socket that is cut resets its stream, and leaves the other streams of the connection alone")
  func cut() async throws {
    let server = try TunnelServer(TunnelServer.echo)
    let first = try await server.connect(), second = try await server.connect()
    first.cut()
    try await server.received.waitForEvents(count: 4)
    #expect(server.received.events == ["ack", "1 4 1 ", "1 4 3 ", "3 0 1 0008"])
    try await exchange(second, "still here")
    #expect(server.engine.openedConnections == 1)
  }

  @Test("A message larger than the windows arrives, and waits for the server's credit")
  func credit() async throws {
    let count = 300_000
    let taken = EventRecorder<Int>()
    let server = try TunnelServer { connection, frame in
      switch frame.kind {
      case .headers: try connection.write(.head(200, stream: frame.stream))
      case .data:
        taken.record(frame.payload.count)
        let credit = UInt32(frame.payload.count)
        try connection.write(.windowUpdate(credit, stream: 0), .windowUpdate(credit, stream: frame.stream))
      default: break
      }
    }
    let socket = try await server.connect()
    try await socket.send(Data(count: count))
    var sizes: [Int] = []
    while sizes.reduce(0, +) < count { sizes = try await taken.waitForEvents(count: sizes.count + 1) }
    // No frame exceeds the server's window of 65,535 bytes.
    #expect(sizes.allSatisfy { $0 <= 65_535 })
  }

  @Test("After GOAWAY a socket lives on, and the next one dials another connection")
  func goAway() async throws {
    let server = try TunnelServer { connection, frame in
      try TunnelServer.echo(connection, frame)
      if frame.kind == .headers { try connection.write(.goAway(lastStream: frame.stream)) }
    }
    let first = try await server.connect()
    try await exchange(first, "one")
    let second = try await server.connect()
    try await exchange(second, "two")
    try await exchange(first, "three")
    #expect(server.engine.openedConnections == 2)
  }

  @Test("A redirect to a ws URL is followed over HTTP/2")
  func redirect() async throws {
    let ports = EventRecorder<Int>()
    let server = try TunnelServer { connection, frame in
      guard frame.kind == .headers, frame.stream == 1 else { return try TunnelServer.echo(connection, frame) }
      let location = "ws://127.0.0.1:\(ports.events.first ?? 0)/next"
      try connection.write(.head(302, ["location": location], stream: 1, ends: true))
    }
    ports.record(server.loopback.port)
    let socket = try await server.connect()
    try await exchange(socket, "there")
    #expect(socket.response.facts.httpVersion == "2" && server.engine.openedConnections == 1)
  }

  @Test("Shutting down the engine ends its sockets")
  func shutdown() async throws {
    let server = try TunnelServer(TunnelServer.echo)
    let socket = try await server.connect()
    await server.engine.shutDown()
    await #expect(throws: WebSocketError.self) { try await socket.waitForEnd() }
  }

  @Test("A server that does not announce extended CONNECT is asked over HTTP/1.1", arguments: ["h2", "http/1.1"])
  func unannounced(version: String) async throws {
    let authority = try CertificateAuthority()
    var tls = LoopbackTLS(try authority.issue(hosts: ["localhost"]))
    tls.applicationProtocols = version == "h2" ? ["h2", "http/1.1"] : ["http/1.1"]
    let versions = EventRecorder<String?>()
    let loopback = try LoopbackServer(tls: tls) { connection in
      versions.record(connection.applicationProtocol)
      guard connection.applicationProtocol == "h2" else {
        return try connection.serveHTTP { _ in .text("over 1.1", status: 403) }
      }
      try LoopbackHTTP2Connection(connection).serve { _ in .text("over 2") }
    }
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    engine.connection.tls.roots = .pem(Array(authority.rootPEM.utf8))
    let transport = try CurlTransport(engine)
    var client = WebSocketClient(dialer: transport, stack: .patient)
    for use in [WebSocketConfiguration.HTTP2Use.never, .whenAnnounced, .whenAnnounced] {
      client.configuration.http2 = use
      let error = await #expect(throws: WebSocketError.self) {
        try await client.connect("wss://localhost:\(loopback.port)/")
      }
      let failure = try #require(error?.handshakeFailure)
      #expect(failure.statusCode == .forbidden && failure.response?.facts.httpVersion == "1.1")
    }
    // One handshake each over HTTP/1.1, and one connection of the engine, which the second attempt finds open.
    #expect(versions.events.count == 4 && transport.openedConnections == 1)
    let request = try ResourceRequest(url: "https://localhost:\(loopback.port)/")
    let answer = try await transport.execute(TransferRequest(head: request.head))
    #expect(answer.facts.httpVersion == (version == "h2" ? "2" : "1.1") && transport.openedConnections == 1)
  }

  @Test("A setting that is announced late counts from then on")
  func announcedLate() async throws {
    let server = try TunnelServer(announces: false) { connection, frame in
      guard frame.kind == .headers else { return try TunnelServer.echo(connection, frame) }
      if frame.stream == 1 { try connection.write(.settings([.init(8, 1)])) }
      try connection.write(.head(200, stream: frame.stream, ends: frame.stream == 1))
    }
    // The second SETTINGS precede the response, so the engine knows them when the fetch has ended.
    let request = try server.request()
    let stack = TransportNetworkStack(transport: server.engine, configuration: .patient)
    #expect(try await stack.fetch(RawHTTPResource.raw(request)).response.status == .ok)
    let socket = try await server.connect()
    try await exchange(socket, "late")
    #expect(socket.response.facts.httpVersion == "2" && server.engine.openedConnections == 1)
  }

  @Test("Reads with limits lose no bytes, and writes after the server's end fail")
  func streamContract() async throws {
    let server = try TunnelServer { connection, frame in
      switch frame.kind {
      case .headers: try connection.write(.head(200, stream: frame.stream))
      case .data where frame.payload.count > 0 && frame.payload != [4]:
        try connection.write(.data(frame.payload + [9], stream: frame.stream, ends: frame.payload == [3]))
      default: break
      }
    }
    var request = TransferRequest(
      head: try server.request().head, connection: try server.request().options.connection,
      delivery: .streamedOnSuccess(maximumBytes: nil, errorBytes: 0))
    request.head.method = .connect
    request.head.extendedConnectProtocol = "echo"
    let answer = try await ExchangeStream.open(request, over: server.engine, time: .continuous)
    let stream = try #require(answer.body.upgraded)
    let late = await #expect(throws: TransportError.self) { try await stream.read(upTo: 1, within: .milliseconds(1)) }
    #expect(late?.code == .idleTimeout)
    let reading = Task { try await stream.read() }
    reading.cancel()
    await #expect(throws: TransportError.self) { try await reading.value }
    try await stream.write(Data([1, 2]))
    #expect(try await stream.read(upTo: 1) == Data([1]))
    #expect(try await stream.read(upTo: 5) == Data([2, 9]))
    try await stream.write(Data([3]))
    #expect(try await stream.read() == Data([3, 9]))
    #expect(try await stream.read() == nil)
    #expect(try await stream.read() == nil)
    // The server has ended its direction only.
    try await stream.write(Data([4]))
    try await stream.finishWriting()
    let finished = await #expect(throws: TransportError.self) { try await stream.write(Data([5])) }
    #expect(finished?.code == .streamClosed)
    // The last bytes may share a frame with the end.
    try await server.waitForFrame("0 1 1 ")
    #expect(Set(server.received.events) == ["ack", "1 4 1 ", "0 0 1 ", "0 1 1 "])
    stream.close()
    let closed = await #expect(throws: TransportError.self) { try await stream.read() }
    #expect(closed?.code == .streamClosed)
  }
}
