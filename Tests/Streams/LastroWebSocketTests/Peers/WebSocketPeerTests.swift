// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroCurl
import LastroStreamsTesting
import LastroTesting
import LastroWebSocket
import PeerSupport
import TestSupport
import Testing

@Suite("WebSocket over the engine", .timeLimit(.minutes(15)))
struct WebSocketPeerTests {
  /// Returns a client without time limits, because a slow machine must not fail a test.
  private func client(_ dialer: any Dialer = CurlNetworkStack.sharedDialer) throws -> WebSocketClient {
    var client = WebSocketClient(dialer: dialer)
    client.stack.timeSource = ManualClock().timeSource
    client.stack.timeouts = try Timeouts(connect: nil, attempt: nil, idle: nil, total: nil)
    return client
  }

  private func echo(_ socket: WebSocket, sizes: [Int]) async throws {
    var messages = socket.messages.makeAsyncIterator()
    for size in sizes {
      let data = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
      async let sent: Void = socket.send(data)
      #expect(try await messages.next() == .binary(data))
      try await sent
    }
    try await socket.send("grüße")
    #expect(try await messages.next() == .text("grüße"))
    try await socket.ping(within: nil)
  }

  @Test("A socket connects over TCP to a loopback server", arguments: [nil, 1] as [Int?])
  func tcp(pieceBytes: Int?) async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.pieceBytes = pieceBytes
    let server = try LoopbackWebSocketServer(behavior)
    let socket = try await client().connect(server.url)
    try await echo(socket, sizes: pieceBytes == nil ? [0, 1, 126, 70_000, 900_000] : [0, 1, 300])
    #expect(socket.facts.remotePort == server.port)
    #expect(try await socket.close().isClean)
  }

  @Test("A socket connects over TLS by the URL's name, or by another address with a separate server name")
  func tls() async throws {
    let authority = try CertificateAuthority()
    let server = try LoopbackWebSocketServer(tls: LoopbackTLS(try authority.issue(hosts: ["socket.example"])))
    var options = ConnectionOptions()
    options.tls.roots = .pem(Array(authority.rootPEM.utf8))
    var requestOptions = RequestOptions()
    requestOptions.connection = options
    var client = try self.client()
    client.configuration.address = ("127.0.0.1", nil)
    let request = try ResourceRequest(url: "https://socket.example:\(server.port)/", options: requestOptions)
    let socket = try await client.connect(to: RawHTTPResource.raw(request))
    try await echo(socket, sizes: [10, 100_000])
    #expect(socket.facts.tls?.version == "TLSv1.3")
    #expect(server.record.handshakes.first?.head["Host"] == "socket.example:\(server.port)")
    #expect(try await socket.close().isClean)
    client.configuration.serverName = "other.example"
    let error = await refusal(client, request)
    #expect(error?.stage == .tls)
  }

  @Test("A server is accepted by its SPIFFE ID, and refused by another one or without TLS")
  func workload() async throws {
    let authority = try CertificateAuthority()
    let server = try LoopbackWebSocketServer(tls: LoopbackTLS(try authority.svid("spiffe://example.org/chat")))
    func request(_ id: String, scheme: String = "https") throws -> ResourceRequest {
      var options = RequestOptions()
      options.connection = ConnectionOptions()
      options.connection?.tls.roots = .pem(Array(authority.rootPEM.utf8))
      options.connection?.tls.peer = .ids(id)
      return try ResourceRequest(url: "\(scheme)://localhost:\(server.port)/", options: options)
    }
    let client = try self.client()
    let socket = try await client.connect(to: RawHTTPResource.raw(try request("spiffe://example.org/chat")))
    try await echo(socket, sizes: [10])
    #expect(socket.facts.trust == .spiffe)
    #expect(try await socket.close().isClean)
    let error = await refusal(client, try request("spiffe://example.org/other"))
    #expect(error?.stage == .trust && error?.code == .spiffeIDMismatch)
    let plain = await refusal(client, try request("spiffe://example.org/chat", scheme: "http"))
    #expect(plain?.stage == .trust && plain?.code == .plaintextRefused)
    #expect(server.record.handshakes.count == 1)
  }

  @Test("A pinned host is not contacted without TLS, at any address")
  func pinned() async throws {
    let server = try LoopbackWebSocketServer()
    let pins = Set(["A", "B"].map { "sha256/" + String(repeating: $0, count: 43) + "=" })
    var engine = CurlConfiguration()
    engine.connection.tls.trustJudge = ServerTrustEvaluator(
      configuration: try .init(
        pinningPolicies: [try PinningPolicy("pinned.example", pins: pins)],
        allowNotPinnedDomains: true))
    var client = try self.client(CurlTransport(engine))
    client.configuration.address = ("127.0.0.1", nil)
    let refused = await refusal(client, try ResourceRequest(url: "http://pinned.example:\(server.port)/"))
    #expect(refused?.stage == .trust && refused?.code == .plaintextRefused)
    #expect(server.acceptedConnections == 0)
    #expect(await refusal(client, try ResourceRequest(url: "http://other.example:\(server.port)/")) == nil)
    #expect(server.acceptedConnections == 1)
  }

  private func refusal(_ client: WebSocketClient, _ request: ResourceRequest) async -> WebSocketError? {
    do throws(WebSocketError) {
      _ = try await client.connect(to: RawHTTPResource.raw(request))
      return nil
    } catch {
      return error
    }
  }

  @Test("With Python's websockets echo, compression, subprotocol, a close code and a cut connection work")
  func python() async throws {
    let peer = try await WebSocketPeer.start()
    var client = try self.client()
    client.configuration.compression = .init()
    client.configuration.subprotocols = ["other", "chat"]
    let socket = try await client.connect("ws://127.0.0.1:\(peer.port)/echo")
    #expect(socket.isCompressing)
    #expect(socket.subprotocol == "chat")
    try await echo(socket, sizes: [0, 1, 1024, 70_000, 1_000_000])
    try await socket.send(fragments: Pieces<String> { $0 < 3 ? ["one ", "two ", "three"][$0] : nil })
    var messages = socket.messages.makeAsyncIterator()
    #expect(try await messages.next() == .text("one two three"))
    #expect(try await socket.close(.goingAway) == .init(code: .goingAway, reason: "", isClean: true, initiator: .local))
    let closing = try await client.connect("ws://127.0.0.1:\(peer.port)/close")
    let close = try await closing.waitForEnd()
    #expect(close.code?.rawValue == 4001 && close.reason == "go" && close.isClean && close.initiator == .remote)
    let cut = try await client.connect("ws://127.0.0.1:\(peer.port)/cut")
    var pieces = cut.messages.makeAsyncIterator()
    let error = await #expect(throws: WebSocketError.self) { while try await pieces.next() != nil {} }
    guard case .connectionLost = error?.reason else {
      Issue.record("\(String(describing: error))")
      return
    }
    peer.stop()
  }
}
