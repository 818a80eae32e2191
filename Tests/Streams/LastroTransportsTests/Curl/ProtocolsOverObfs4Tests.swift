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

@Suite("Protocols over obfs4", .timeLimit(.minutes(15)))
struct ProtocolsOverObfs4Tests {
  let lab: TestAuthority

  init() throws { lab = try TestAuthority() }

  private func bridge(to port: Int) throws -> LoopbackObfs4Server {
    var behavior = LoopbackObfs4Behavior()
    behavior.target = .port(port)
    return try LoopbackObfs4Server(behavior)
  }

  private func dialer(_ bridge: LoopbackObfs4Server, _ judge: (any ServerTrustJudge)? = nil) throws -> any Dialer {
    try ViaChain([bridge.bridgeLine]).dialer(over: lab.base, connection: lab.options { $0.tls.trustJudge = judge })
  }

  @Test("A WebSocket over TLS passes through an obfs4 server, and its pin is enforced")
  func webSocket() async throws {
    let tls = try lab.tls()
    let server = try LoopbackWebSocketServer(tls: tls)
    let bridge = try bridge(to: server.port)
    let judge = try TestAuthority.evaluator("localhost", pin: TestAuthority.pin(tls.identity))
    var options = RequestOptions()
    options.timeouts = try Timeouts(connect: nil, attempt: nil, idle: nil, total: nil)
    let request = try ResourceRequest(url: "https://localhost:\(server.port)/", options: options)
    let client = try WebSocketClient(dialer: dialer(bridge, judge), configuration: .patient)
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

    let stranger = try dialer(bridge, TestAuthority.evaluator("localhost", pin: TestAuthority.absentPin))
    let error = await #expect(throws: WebSocketError.self) {
      try await WebSocketClient(dialer: stranger).connect(to: RawHTTPResource.raw(request))
    }
    #expect(error?.code == .pinMismatch)
    #expect(server.record.handshakes.count == 1)
  }

  @Test("Gemini passes through an obfs4 server, and TLS ends the page")
  func gemini() async throws {
    let body = String(repeating: "gemtext ", count: 30_000)
    let server = try LoopbackGeminiServer(identity: CertificateMint.selfSigned(hosts: ["localhost"])) { _ in
      .success(body)
    }
    let bridge = try bridge(to: server.port)
    var configuration = GeminiConfiguration()
    configuration.trust = .firstUse()
    configuration.connection = lab.options()
    configuration.connectTimeout = .seconds(600)
    configuration.headerTimeout = .seconds(600)
    configuration.idleTimeout = .seconds(600)
    let client = GeminiClient(dialer: try dialer(bridge), configuration: configuration)
    for trust in [TrustVerdict.firstUse, .knownHost] {
      let response = try await client.fetch(server.url("/page")).collected()
      #expect(response.text == body)
      #expect(response.facts.trust == trust)
    }
  }

  @Test("As a factory obfs4 carries bytes by the shared engine, in every mode")
  func factories() async throws {
    let bridge = try LoopbackObfs4Server()
    let address = ConnectionEndpoint.hostPort(host: "127.0.0.1", port: try #require(.init("\(bridge.port)")))
    let server = try WispServer(bridge.bridgeLine.replacing("iat-mode=0", with: "iat-mode=2"))
    for factory in [
      try WispConnectionFactory(serverAddress: address, cert: bridge.certificate, iatMode: false),
      try WispConnectionFactory(serverAddress: address, cert: bridge.certificate, iatMode: true),
      try WispConnectionFactory(
        to: server, factory: NetworkConnectionFactory(to: address, dialer: CurlNetworkStack.sharedDialer)),
    ] {
      let stream = try await ConnectionFactoryDialer(factory).dial(
        DialRequest(host: "any.test", port: 1, connectTimeout: .seconds(600)))
      try await stream.expectEcho(20_000)
      stream.close()
      #expect(factory.connect(using: .udp) == nil)
    }
  }
}

extension WebSocketConfiguration {
  /// A configuration without limits that a busy machine might reach. The suite's time limit ends a hang.
  static var patient: Self {
    var result = Self()
    result.keepAlive = nil
    result.closeTimeout = .seconds(600)
    return result
  }
}
