// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import LastroWebSocket
import PeerSupport
import TestSupport
import Testing

/// WebSockets over HTTP/2 (RFC 8441) with servers of others.
@Suite("WebSocket over HTTP/2: servers of others", .peers(.nginx), .timeLimit(.minutes(15)))
struct WebSocketTunnelPeerTests {
  private func stack(trusting authority: String) throws -> CurlNetworkStack {
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    engine.connection.tls.roots = .file(authority)
    return try CurlNetworkStack(engine, configuration: .patient)
  }

  private func client(_ stack: CurlNetworkStack) -> WebSocketClient {
    var client = WebSocketClient(dialer: stack.dialer, stack: .patient)
    client.configuration.http2 = .whenAnnounced
    client.configuration.subprotocols = ["chat"]
    client.configuration.compression = .init(minimumBytes: 0)
    return client
  }

  private func echo(_ socket: WebSocket, _ sizes: [Int]) async throws {
    var messages = socket.messages.makeAsyncIterator()
    for size in sizes {
      let data = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
      async let sent: Void = socket.send(data)
      #expect(try await messages.next() == .binary(data), "\(size)")
      try await sent
    }
    try await socket.send("grüße")
    #expect(try await messages.next() == .text("grüße"))
    try await socket.ping(within: nil)
  }

  @Test("hypercorn: sockets and fetches share one connection; echo, subprotocol, compression and closing work")
  func hypercorn() async throws {
    let peer = try await HypercornWebSocketPeer.start()
    let stack = try stack(trusting: peer.certificates.authority), client = client(stack)
    let url = "wss://localhost:\(peer.port)"
    let first = try await client.connect("\(url)/echo"), second = try await client.connect("\(url)/echo")
    for socket in [first, second] {
      #expect(socket.response.facts.httpVersion == "2" && socket.subprotocol == "chat")
      try await echo(socket, [0, 1, 126, 70_000, 900_000])
    }
    let fetched = try await stack.fetch(
      RawHTTPResource.raw(try ResourceRequest(url: "https://localhost:\(peer.port)/")))
    #expect(fetched.value == Data("2".utf8))
    #expect(stack.transport.openedConnections == 1 && stack.transport.activeTransfers == 0)
    second.cut()
    try await echo(first, [10])
    #expect(try await first.close().isClean)
    #expect(stack.transport.openedConnections == 1 && stack.transport.activeStreams == 0)
    // hypercorn 0.18 may end the connection when a socket was closed.
    let another = self.client(try self.stack(trusting: peer.certificates.authority))
    let closed = try await another.connect("\(url)/close")
    let close = try await closed.waitForEnd()
    #expect(close.code?.rawValue == 4001 && close.reason == "go" && close.isClean && close.initiator == .remote)
  }

  @Test("hypercorn: a refused handshake is the same error over both versions")
  func refused() async throws {
    let peer = try await HypercornWebSocketPeer.start()
    let stack = try stack(trusting: peer.certificates.authority)
    for use in [WebSocketConfiguration.HTTP2Use.never, .whenAnnounced] {
      var client = client(stack)
      client.configuration.http2 = use
      let error = await #expect(throws: WebSocketError.self) {
        try await client.connect("wss://localhost:\(peer.port)/deny")
      }
      let fetch = try #require(error?.handshakeFailure)
      #expect(fetch.statusCode == .forbidden && fetch.stage == .http && fetch.code == .unexpectedStatus)
      #expect(fetch.response?.facts.httpVersion == (use == .never ? "1.1" : "2"))
    }
  }

  @Test("haproxy: sockets to an HTTP/1.1 server share one connection")
  func haproxy() async throws {
    let origin = try await WebSocketPeer.start()
    let peer = try await HAProxyWebSocketPeer.start(origin: origin.port)
    let stack = try stack(trusting: peer.certificates.authority), client = client(stack)
    let sockets = try await withThrowingTaskGroup(of: WebSocket.self) { group in
      for _ in 0..<10 { group.addTask { try await client.connect("wss://localhost:\(peer.port)/echo") } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    for socket in sockets {
      #expect(socket.response.facts.httpVersion == "2" && socket.subprotocol == "chat")
      try await echo(socket, [1, 70_000])
    }
    #expect(stack.transport.openedConnections == 1)
    for socket in sockets { #expect(try await socket.close().isClean) }
    let cut = try await client.connect("wss://localhost:\(peer.port)/cut")
    var messages = cut.messages.makeAsyncIterator()
    await #expect(throws: WebSocketError.self) { try await messages.next() }
  }

  @Test("nginx, which announces nothing, is reached over HTTP/1.1")
  func unannounced() async throws {
    let stack = try stack(trusting: Peers.nginx.certificates.authority)
    let port = try Peers.nginx.ports.tls
    let error = await #expect(throws: WebSocketError.self) {
      try await client(stack).connect("wss://localhost:\(port)/missing")
    }
    let fetch = try #require(error?.handshakeFailure)
    #expect(fetch.statusCode == .notFound && fetch.response?.facts.httpVersion == "1.1")
  }
}
