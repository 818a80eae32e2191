// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import LastroWebSocket
import TestSupport
import Testing

/// Servers that announce extended CONNECT and then break their word. Each costs its own socket only.
@Suite("WebSocket over HTTP/2: hostile servers", .timeLimit(.minutes(15)))
struct WebSocketTunnelFaultTests {
  struct Refusal: Sendable, CustomTestStringConvertible {
    var name: String
    var words: String
    /// The number of times that the request is sent.
    var requests = 1
    var frames: @Sendable (UInt32) -> [LoopbackHTTP2Frame]
    var testDescription: String { name }
  }

  static let refusals = [
    Refusal(name: "403", words: "http/unexpected_status") { [.head(403, stream: $0, ends: true)] },
    Refusal(name: "403 with a body without an end", words: "http/unexpected_status") {
      [.head(403, stream: $0), .data([1, 2, 3], stream: $0)]
    },
    Refusal(name: "503 with a cut body", words: "http/unexpected_status") {
      [
        .head(503, ["content-length": "9"], stream: $0), .data([1], stream: $0),
        .resetStream(.internalError, stream: $0),
      ]
    },
    Refusal(name: "101", words: "response/http2_failure") { [.head(101, stream: $0)] },
    Refusal(name: "no status", words: "response/http2_failure") { [.headers([], stream: $0)] },
    Refusal(name: "DATA before the head", words: "response/http2_failure") { [.data([1], stream: $0)] },
    Refusal(name: "a reset", words: "response/http2_failure") { [.resetStream(.protocolError, stream: $0)] },
    Refusal(name: "REFUSED_STREAM each time", words: "response/http2_failure", requests: 4) {
      [.resetStream(.refusedStream, stream: $0)]
    },
    Refusal(name: "an unknown subprotocol", words: "response/protocol_violation") {
      [.head(200, ["sec-websocket-protocol": "x"], stream: $0)]
    },
    Refusal(name: "an extension that was not offered", words: "response/protocol_violation") {
      [.head(200, ["sec-websocket-extensions": "permessage-deflate"], stream: $0)]
    },
  ]

  @Test("A handshake that goes wrong is a typed error of the handshake", arguments: refusals)
  func refused(_ refusal: Refusal) async throws {
    let server = try TunnelServer(TunnelServer.answering(refusal.frames))
    let failure = try await server.refusal()
    #expect(failure.words == refusal.words, "\(failure)")
    #expect(server.received.events.count { $0.hasPrefix("1 ") } == refusal.requests)
    #expect(server.engine.activeTransfers == 0)
  }

  @Test("A setting that is withdrawn ends the connection")
  func withdrawn() async throws {
    let server = try TunnelServer(
      TunnelServer.answering { [.head(200, stream: $0), .settings([.init(8, 0)])] })
    await #expect(throws: WebSocketError.self) { try await server.connect().waitForEnd() }
    #expect(server.engine.activeTransfers == 0)
  }

  struct End: Sendable, CustomTestStringConvertible {
    var name: String
    var frames: @Sendable (UInt32) -> [LoopbackHTTP2Frame]
    var testDescription: String { name }
  }

  static let ends = [
    End(name: "END_STREAM") { [.data([], stream: $0, ends: true)] },
    End(name: "END_STREAM within a frame") { [.data([0x81, 5, 0x61], stream: $0, ends: true)] },
    End(name: "a reset within a frame") { [.data([0x81, 5, 0x61], stream: $0), .resetStream(.cancel, stream: $0)] },
    End(name: "trailers") { [.headers([.init(name: "x", value: "y")], stream: $0, ends: true)] },
    End(name: "GOAWAY for the stream") { _ in [.goAway(lastStream: 0, .internalError)] },
    End(name: "more than the window") { stream in
      (0..<200).map { _ in .data([UInt8](repeating: 0, count: 16_384), stream: stream) }
    },
    End(name: "bytes that are no frame") { [.data([UInt8](repeating: 0xFF, count: 100), stream: $0)] },
  ]

  @Test("A socket that ends without a Close frame fails, and no other stream does", arguments: ends)
  func ended(_ end: End) async throws {
    let server = try TunnelServer(TunnelServer.answering { [.head(200, stream: $0)] + end.frames($0) })
    let socket = try await server.connect()
    await #expect(throws: WebSocketError.self) { try await socket.waitForEnd() }
    #expect(!socket.isOpen)
    #expect(server.engine.activeTransfers == 0)
  }

  @Test("A server that closes the connection before its settings ends the handshake")
  func closesFirst() async throws {
    let loopback = try LoopbackServer { connection in
      _ = connection.read(max: 24)
      connection.close()
    }
    let server = try TunnelServer(TunnelServer.echo)
    var request = try server.request()
    request.head.authority = "127.0.0.1:\(loopback.port)"
    let error = await #expect(throws: WebSocketError.self) {
      try await server.client().connect(to: RawHTTPResource.raw(request))
    }
    #expect(error?.handshakeFailure?.attempts.last?.requestSent == false, "\(error as Any)")
  }

  @Test("A server that never sends settings is left when the time of the handshake has passed, and on cancellation")
  func silent() async throws {
    let loopback = try LoopbackServer { $0.stall() }
    let server = try TunnelServer(TunnelServer.echo)
    var client = server.client()
    client.stack.timeouts = try Timeouts(connect: nil, attempt: nil, idle: nil, total: .milliseconds(300))
    var request = try server.request()
    request.head.authority = "127.0.0.1:\(loopback.port)"
    let resource = RawHTTPResource.raw(request)
    let error = await #expect(throws: WebSocketError.self) { try await client.connect(to: resource) }
    #expect(error?.handshakeFailure?.code == .totalTimeout, "\(error as Any)")
    client.stack.timeouts = try Timeouts(connect: nil, attempt: nil, idle: nil, total: nil)
    let patient = client
    let connecting = Task { try await patient.connect(to: resource) }
    while server.engine.activeTransfers == 0 { await Task.yield() }
    connecting.cancel()
    await #expect(throws: WebSocketError.self) { try await connecting.value }
  }
}
