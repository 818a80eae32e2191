// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import LastroTunnels
import PeerSupport
import Testing

@Suite("Connections over the engine", .timeLimit(.minutes(15)))
struct EngineConnectionTests {
  private let authority: CertificateAuthority

  init() throws { authority = try CertificateAuthority() }

  /// Returns a server that sends everything back, over TLS for `localhost` if `tls` is set.
  private func echo(tls: Bool) throws -> LoopbackServer {
    guard tls else { return try LoopbackServer(handler: sendBack) }
    return try LoopbackServer(tls: LoopbackTLS(try authority.issue(hosts: ["localhost"])), handler: sendBack)
  }

  private func parameters(tls: Bool) -> ConnectionParameters {
    let parameters: ConnectionParameters = tls ? .tls : .tcp
    var options = ConnectionOptions()
    options.proxy = .none
    options.tls.roots = .pem(Array(authority.rootPEM.utf8))
    parameters.connection = options
    parameters.connectTimeout = .seconds(600)
    return parameters
  }

  private func place(_ server: LoopbackServer) throws -> ConnectionEndpoint {
    try place(server.isTLS ? "localhost" : "127.0.0.1", server.port)
  }

  private func place(_ host: String, _ port: Int) throws -> ConnectionEndpoint {
    .hostPort(host: .init(host), port: try #require(ConnectionEndpoint.Port("\(port)")))
  }

  @Test("Bytes are echoed over TCP and TLS, and both addresses are reported", arguments: [false, true])
  func streams(tls: Bool) async throws {
    let server = try echo(tls: tls)
    let connection = NetworkConnection(to: try place(server), using: parameters(tls: tls))
    try await connection.start()
    #expect(connection.facts?.remotePort == server.port)
    #expect((connection.facts?.tls != nil) == tls)
    #expect(connection.facts?.trust == (tls ? .validated : .plain))
    let sent = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 ^ ($0 >> 8)) })
    async let sending: Void = connection.send(sent, contentContext: .finalMessage)
    let got = try await connection.receiveMessage()
    try await sending
    #expect(got.data == sent && endsStream(got))
    connection.cancel()
  }

  @Test("An untrusted certificate fails the connection") func untrusted() async throws {
    let server = try echo(tls: true)
    let stranger = try CertificateAuthority()
    let parameters = parameters(tls: true)
    parameters.connection?.tls.roots = .pem(Array(stranger.rootPEM.utf8))
    let connection = NetworkConnection(to: try place(server), using: parameters)
    let error = try await #require(throws: ConnectionError.self) { try await connection.start() }
    #expect(error.cause?.code == .untrustedCertificate, "\(error)")
  }

  @Test("A missing socket fails the connection with its errno") func missing() async throws {
    let missing = NetworkConnection(
      to: .unix(path: "/nonexistent/lastro/socket"), using: parameters(tls: false))
    let error = try await #require(throws: ConnectionError.self) { try await missing.start() }
    // The error number of ENOENT is 2.
    #expect(error.cause?.stage == .connect && error.cause?.systemCode == 2, "\(error)")
  }

  @Test("Datagrams are sent over UDP, each as a message, including empty ones") func datagrams() async throws {
    let server = try LoopbackDatagramServer { .answer($0.bytes) }
    let connection = NetworkConnection(to: try place("127.0.0.1", server.port), using: .udp)
    try await connection.start()
    #expect(connection.facts?.remotePort == server.port)
    for bytes in [Data("one".utf8), Data(), Data(repeating: 7, count: 65_507)] {
      try await connection.send(bytes)
      let got = try await connection.receiveMessage()
      #expect(got.data == bytes && got.isComplete && !endsStream(got))
    }
    await #expect(throws: ConnectionError.transport(.refused(.invalidOption, ""))) {
      try await connection.send(Data(count: 65_508))
    }
    #expect(connection.state == .ready)
    connection.cancel()
  }

  @Test("All requirements are satisfied over TCP and TLS", arguments: [false, true])
  func conformance(tls: Bool) async throws {
    let server = try echo(tls: tls)
    let factory = NetworkConnectionFactory(to: try place(server))
    try await expectConformance(factory, using: parameters(tls: tls))
  }

  @Test("A transport satisfies all requirements over TCP and TLS", arguments: [false, true])
  func transport(tls: Bool) async throws {
    let server = try echo(tls: tls)
    let network = NetworkConnectionFactory(to: try place(server))
    let factory = NetworkConnectionFactory(factory: network) { Inverted() }
    try await expectConformance(factory, using: parameters(tls: tls))
  }

  @Test("All requirements are satisfied through dante by SOCKS 5", .needsDante) func socks() async throws {
    let dante = try await DantePeer.start()
    defer { dante.stop() }
    let server = try echo(tls: false)
    let proxy = try ProxyServer(host: "127.0.0.1", port: dante.port)
    let base = NetworkConnectionFactory(to: try place("127.0.0.1", dante.port))
    let factory = try NetworkConnectionFactory(to: place(server), factory: base) {
      try SOCKS5Dialer(proxy: proxy, over: $0)
    }
    try await expectConformance(factory, using: parameters(tls: false))
  }

  @Test("All requirements are satisfied through squid by CONNECT, except half-closed streams") func connect()
    async throws
  {
    let squid = try await SquidPeer.start()
    defer { squid.stop() }
    let server = try echo(tls: false)
    let proxy = try ProxyServer(host: "127.0.0.1", port: squid.port)
    let base = NetworkConnectionFactory(to: try place("127.0.0.1", squid.port))
    let factory = try NetworkConnectionFactory(to: place(server), factory: base) {
      try HTTPConnectDialer(proxy: proxy, over: $0)
    }
    let suite = ConnectionConformance(of: factory, using: parameters(tls: false), patience: .seconds(1200))
    // Squid closes a tunnel in both directions as soon as one direction has ended.
    let endsOfSquid = [
      "a final message ends our direction", "a message without end has everything up to the end of the stream",
    ]
    let findings = await suite.brokenPromises().filter { !endsOfSquid.contains($0.promise) }
    #expect(findings.isEmpty, "\(findings)")
  }

  private func expectConformance(
    _ factory: any ConnectionFactory, using parameters: ConnectionParameters,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let suite = ConnectionConformance(of: factory, using: parameters, patience: .seconds(1200))
    let findings = await suite.brokenPromises()
    #expect(findings.isEmpty, "\(findings)", sourceLocation: sourceLocation)
  }
}

@Sendable private func sendBack(_ connection: LoopbackConnection) throws {
  while case let bytes = connection.read(max: 65_536), !bytes.isEmpty { try connection.write(bytes) }
}

/// A transport that inverts every bit, so that a server can send bytes back without understanding them.
private struct Inverted: StreamTransform {
  mutating func outgoing(_ data: Data) -> Data { Data(data.map { ~$0 }) }
  mutating func incoming(_ data: Data) -> Data { Data(data.map { ~$0 }) }
}
