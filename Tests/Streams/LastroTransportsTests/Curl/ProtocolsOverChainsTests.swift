// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroCurl
import LastroGemini
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import LastroTunnels
import LastroWebSocket
import PeerSupport
import TestSupport
import Testing

@Suite(
  "dante and squid: protocols over chains of tunnels", .needsDante, .peers(.dante, .squid), .timeLimit(.minutes(15)))
struct ProtocolsOverChainsTests {
  let lab: TestAuthority
  let proxies: [String]

  init() throws {
    lab = try TestAuthority()
    proxies = try ["socks5://127.0.0.1:\(Peers.dante.port)", "http://127.0.0.1:\(Peers.squid.port)"]
  }

  private func dialer(_ way: [String], _ judge: (any ServerTrustJudge)? = nil) throws -> any Dialer {
    try ViaChain(way).dialer(over: lab.base, connection: lab.options { $0.tls.trustJudge = judge })
  }

  private func connect(_ dialer: any Dialer, _ url: String) async throws -> WebSocket {
    var options = RequestOptions()
    options.timeouts = try Timeouts(connect: nil, attempt: nil, idle: nil, total: nil)
    let request = try ResourceRequest(url: url, options: options)
    return try await WebSocketClient(dialer: dialer, configuration: .patient).connect(
      to: RawHTTPResource.raw(request))
  }

  private func refusal(_ dialer: any Dialer, _ url: String) async throws -> WebSocketError? {
    await #expect(throws: WebSocketError.self) { try await connect(dialer, url) }
  }

  /// Returns the chain through the proxies, and the chain through the proxies and meek.
  private func ways(to port: Int) throws -> (meek: LoopbackMeekServer, ways: [[String]]) {
    let peer = try LoopbackMeekServer(tls: lab.tls(), target: .port(port))
    return (peer, [proxies, proxies + ["meek:https://hidden.test/x?front=127.0.0.1:\(peer.server.port)"]])
  }

  /// Returns the number of sessions so far, including those that have ended.
  private func sessions(_ peer: LoopbackMeekServer) -> Int {
    Set(peer.server.requests.map { $0.head.values("X-Session-Id") }).count
  }

  @Test("A pinned WebSocket over TLS passes through SOCKS 5 and an HTTP proxy, and through meek behind them")
  func webSocket() async throws {
    let tls = try lab.tls()
    let server = try LoopbackWebSocketServer(tls: tls)
    let judge = try TestAuthority.evaluator("localhost", pin: TestAuthority.pin(tls.identity))
    let (peer, ways) = try ways(to: server.port)
    for way in ways {
      let socket = try await connect(dialer(way, judge), "https://localhost:\(server.port)/")
      #expect(socket.facts.trust == .pinned)
      var messages = socket.messages.makeAsyncIterator()
      for size in [1, 70_000, 300_000] {
        let data = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        async let sent: Void = socket.send(data)
        #expect(try await messages.next() == .binary(data))
        try await sent
      }
      try await socket.send("grüße")
      #expect(try await messages.next() == .text("grüße"))
      #expect(try await socket.close().isClean)
    }
    #expect(server.record.handshakes.count == 2)
    #expect(sessions(peer) == 1)
  }

  @Test("A WebSocket to a host with another key is refused on every route before its handshake is sent")
  func webSocketPins() async throws {
    let server = try LoopbackWebSocketServer(tls: lab.tls())
    let judge = try TestAuthority.evaluator("localhost", pin: TestAuthority.absentPin)
    let (peer, ways) = try ways(to: server.port)
    for way in ways {
      let error = try await refusal(dialer(way, judge), "https://localhost:\(server.port)/")
      #expect(error?.code == .pinMismatch)
      #expect(error?.stage == .trust)
      let inTheClear = try await refusal(dialer(way, judge), "http://localhost:\(server.port)/")
      #expect(inTheClear?.code == .plaintextRefused)
    }
    #expect(server.record.handshakes.isEmpty)
    #expect(server.acceptedConnections == 2)
    #expect(sessions(peer) == 1)
  }

  @Test("Gemini uses the same routes: trust on first use, and a changed key stops it before the request")
  func gemini() async throws {
    let old = try CertificateMint.selfSigned(hosts: ["localhost"])
    let new = try CertificateMint.selfSigned(hosts: ["localhost"])
    let body = String(repeating: "gemtext ", count: 30_000)
    let server = try LoopbackGeminiServer(identity: old) { _ in .success(body) }
    let (peer, ways) = try ways(to: server.port)
    for way in ways {
      try server.show(old)
      var configuration = GeminiConfiguration()
      configuration.trust = .firstUse()
      configuration.connection = lab.options()
      configuration.connectTimeout = .seconds(600)
      configuration.headerTimeout = .seconds(600)
      configuration.idleTimeout = .seconds(600)
      let client = GeminiClient(dialer: try dialer(way), configuration: configuration)
      for trust in [TrustVerdict.firstUse, .knownHost] {
        let response = try await client.fetch(server.url("/page")).collected()
        #expect(response.text == body)
        #expect(response.facts.trust == trust)
      }
      let before = server.requests.count
      try server.show(new)
      let error = await #expect(throws: GeminiError.self) { try await client.fetch(server.url()).collected() }
      #expect(error?.code == .certificateChanged)
      #expect(server.requests.count == before)
    }
    #expect(server.requests.count == 4)
    #expect(sessions(peer) == 3)
  }
}
