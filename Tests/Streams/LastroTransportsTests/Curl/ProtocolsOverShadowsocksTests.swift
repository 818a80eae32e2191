// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroCurl
import LastroGemini
import LastroHTTP
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import LastroTunnels
import LastroWebSocket
import TestSupport
import Testing

@Suite("Protocols over Shadowsocks", .timeLimit(.minutes(15)))
struct ProtocolsOverShadowsocksTests {
  let lab: TestAuthority

  init() throws { lab = try TestAuthority() }

  private func proxy(
    _ method: ShadowsocksServer.Method = .chaCha20Poly1305, _ target: LoopbackShadowsocksBehavior.Target = .asked
  ) throws -> LoopbackShadowsocksServer {
    var behavior = LoopbackShadowsocksBehavior()
    behavior.method = method
    behavior.target = target
    return try LoopbackShadowsocksServer(behavior)
  }

  private func dialer(
    _ proxy: LoopbackShadowsocksServer, _ judge: (any ServerTrustJudge)? = nil
  ) throws -> any Dialer {
    try ViaChain([proxy.uri]).dialer(over: lab.base, connection: lab.options { $0.tls.trustJudge = judge })
  }

  @Test(
    "A WebSocket over TLS passes through a Shadowsocks server, and its pin is enforced",
    arguments: ShadowsocksServer.Method.allCases)
  func webSocket(method: ShadowsocksServer.Method) async throws {
    let tls = try lab.tls("far.test")
    let server = try LoopbackWebSocketServer(tls: tls)
    let proxy = try proxy(method)
    let judge = try TestAuthority.evaluator("far.test", pin: TestAuthority.pin(tls.identity))
    var options = RequestOptions()
    options.timeouts = try Timeouts(connect: nil, attempt: nil, idle: nil, total: nil)
    let request = try ResourceRequest(url: "https://far.test:\(server.port)/", options: options)
    let client = try WebSocketClient(dialer: dialer(proxy, judge), configuration: .patient)
    let socket = try await client.connect(to: RawHTTPResource.raw(request))
    #expect(socket.facts.trust == .pinned)
    var messages = socket.messages.makeAsyncIterator()
    for size in [1, 70_000, 300_000] {
      let data = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
      async let sent: Void = socket.send(data)
      #expect(try await messages.next() == .binary(data))
      try await sent
    }
    #expect(try await socket.close().isClean)

    let stranger = try dialer(proxy, TestAuthority.evaluator("far.test", pin: TestAuthority.absentPin))
    let error = await #expect(throws: WebSocketError.self) {
      try await WebSocketClient(dialer: stranger).connect(to: RawHTTPResource.raw(request))
    }
    #expect(error?.code == .pinMismatch)
    #expect(server.record.handshakes.count == 1)
    #expect(proxy.targets == ["far.test:\(server.port)", "far.test:\(server.port)"])
  }

  @Test("Gemini passes through a Shadowsocks server, and TLS ends the page")
  func gemini() async throws {
    let body = String(repeating: "gemtext ", count: 30_000)
    let server = try LoopbackGeminiServer(identity: CertificateMint.selfSigned(hosts: ["localhost"])) { _ in
      .success(body)
    }
    let proxy = try proxy()
    var configuration = GeminiConfiguration()
    configuration.trust = .firstUse()
    configuration.connection = lab.options()
    configuration.connectTimeout = .seconds(600)
    configuration.headerTimeout = .seconds(600)
    configuration.idleTimeout = .seconds(600)
    let client = GeminiClient(dialer: try dialer(proxy), configuration: configuration)
    for trust in [TrustVerdict.firstUse, .knownHost] {
      let response = try await client.fetch(server.url("/page")).collected()
      #expect(response.text == body)
      #expect(response.facts.trust == trust)
    }
  }

  @Test("As a factory Shadowsocks carries bytes by the shared engine", arguments: ShadowsocksServer.Method.allCases)
  func factory(method: ShadowsocksServer.Method) async throws {
    let proxy = try proxy(method, .echo)
    let address = ConnectionEndpoint.hostPort(host: "127.0.0.1", port: try #require(.init("\(proxy.port)")))
    let server = try ShadowsocksServer(host: "127.0.0.1", port: proxy.port, method: method, password: "test-password")
    let factory = try NetworkConnectionFactory(
      to: .hostPort(host: "echo.test", port: 7), factory: NetworkConnectionFactory(to: address)
    ) { ShadowsocksDialer(server, over: $0) }
    let stream = try await ConnectionFactoryDialer(factory).dial(
      DialRequest(host: "any.test", port: 1, connectTimeout: .seconds(600)))
    try await stream.expectEcho(20_000)
    stream.close()
    #expect(factory.connect(using: .udp) == nil)
    #expect(proxy.targets == ["echo.test:7"])
  }

  @Test(
    "An unreachable target ends the stream without data, which a TLS handshake reports as the proxy's refusal")
  func unreachableTarget() async throws {
    let nobody = try LoopbackServer { _ in }
    nobody.stop()
    let proxy = try proxy()
    let error = try await transportError { try await dialer(proxy).dial(nobody.request("far.test")) }
    #expect(error.stage == .proxy && error.code == .proxyRefused)
    #expect(!error.requestSent)
    #expect(proxy.targets == ["far.test:\(nobody.port)"])
  }
}
