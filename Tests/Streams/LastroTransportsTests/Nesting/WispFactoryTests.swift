// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import LastroTunnels
import TestSupport
import Testing

@Suite("obfs4 as a connection factory", .timeLimit(.minutes(15)))
struct WispFactoryTests {
  private static let address = ConnectionEndpoint.hostPort(host: "bridge.test", port: 443)

  private static func expectConforming(
    _ factory: any ConnectionFactory, bigLength: Int = 200_000, sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let suite = ConnectionConformance(of: factory, bigLength: bigLength, checksEnds: false)
    let findings = await suite.brokenPromises()
    #expect(findings.isEmpty, "\(findings)", sourceLocation: sourceLocation)
  }

  @Test("All requirements except those about ends are satisfied, created in each of the document's ways")
  func conformance() async throws {
    let bridge = try LoopbackObfs4Server()
    let network = bridge.dialer()
    let cert = bridge.certificate
    let tcp = NetworkConnectionFactory(to: Self.address, dialer: network)
    await Self.expectConforming(
      try WispConnectionFactory(serverAddress: Self.address, cert: cert, iatMode: false, factory: tcp))
    await Self.expectConforming(
      try WispConnectionFactory(serverAddress: Self.address, cert: cert + "==", iatMode: false, factory: tcp))
    await Self.expectConforming(
      EachTimeAnew {
        let connection = NetworkConnection(to: Self.address, using: .tcp, dialer: network)
        return try? WispConnectionFactory(
          serverAddress: Self.address, cert: cert, iatMode: false, connection: connection)
      })
  }

  @Test(
    "The requirements are satisfied with pauses between writes, and in small pieces",
    arguments: WispServer.Timing.allCases)
  func modes(mode: WispServer.Timing) async throws {
    let bridge = try LoopbackObfs4Server()
    let server = try WispServer(
      host: "bridge.test", port: 443, certificate: Secret(bridge.certificate), mode: mode)
    let slow = bridge.dialer(shape: MemoryStream.Shape(longestRead: 100, capacity: 1000))
    let tcp = NetworkConnectionFactory(to: Self.address, dialer: slow)
    await Self.expectConforming(try WispConnectionFactory(to: server, factory: tcp), bigLength: 1000)
    #expect(!"\(server)".contains("bridge.test"))
  }

  @Test("Datagrams, and TLS over one connection, return nil")
  func refusals() throws {
    let bridge = try LoopbackObfs4Server()
    let network = bridge.dialer()
    let over = try WispConnectionFactory(
      serverAddress: Self.address, cert: bridge.certificate, iatMode: true,
      factory: NetworkConnectionFactory(to: Self.address, dialer: network))
    #expect(over.connect(using: .udp) == nil)
    let connection = NetworkConnection(to: Self.address, using: .tcp, dialer: network)
    let single = try WispConnectionFactory(
      serverAddress: Self.address, cert: bridge.certificate, iatMode: true, connection: connection)
    #expect(single.connect(using: .udp) == nil)
    #expect(single.connect(using: .tls) == nil)
  }

  @Test("An invalid certificate or address is refused when the factory is created")
  func badArguments() throws {
    let bridge = try LoopbackObfs4Server()
    let tcp = NetworkConnectionFactory(to: Self.address, dialer: bridge.dialer())
    for cert in ["", "x", String(bridge.certificate.dropLast()), bridge.certificate + "A"] {
      #expect(throws: ConfigurationError.self) {
        try WispConnectionFactory(serverAddress: Self.address, cert: cert, iatMode: false, factory: tcp)
      }
    }
    for address in [ConnectionEndpoint.unix(path: "/x"), .service(name: "a", type: "b", domain: "c")] {
      #expect(throws: ConfigurationError.self) {
        try WispConnectionFactory(serverAddress: address, cert: bridge.certificate, iatMode: false, factory: tcp)
      }
    }
  }

  @Test("A server that does not prove its identity fails the connection")
  func wrongServer() async throws {
    var behavior = LoopbackObfs4Behavior()
    behavior.handshakeFault = .wrongAuthentication
    let bridge = try LoopbackObfs4Server(behavior)
    let factory = try WispConnectionFactory(
      serverAddress: Self.address, cert: bridge.certificate, iatMode: false,
      factory: NetworkConnectionFactory(to: Self.address, dialer: bridge.dialer()))
    let parameters = ConnectionParameters.tcp
    parameters.connectTimeout = .seconds(600)
    do throws(ConnectionError) {
      _ = try await factory.open(using: parameters)
      Issue.record("the call must be refused")
    } catch {
      #expect(error.cause?.code == .handshakeFailed)
      #expect(error.cause?.engineCode == 3)
    }
  }
}
