// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import LastroTunnels
import TestSupport
import Testing

@Suite("Shadowsocks as a connection factory", .timeLimit(.minutes(5)))
struct ShadowsocksFactoryTests {
  private static let address = ConnectionEndpoint.hostPort(host: "proxy.test", port: 8388)
  private static let target = ConnectionEndpoint.hostPort(host: "echo.test", port: 7)
  private static let password: Secret = "test-password"

  private static func expectConforming(
    _ factory: any ConnectionFactory, bigLength: Int = 200_000, sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let suite = ConnectionConformance(
      of: factory, bigLength: bigLength, leavingOut: ConnectionConformance.promisesOfEnds)
    let findings = await suite.brokenPromises()
    #expect(findings.isEmpty, "\(findings)", sourceLocation: sourceLocation)
  }

  private static func behavior(_ method: ShadowsocksServer.Method) -> LoopbackShadowsocksBehavior {
    var behavior = LoopbackShadowsocksBehavior()
    behavior.method = method
    return behavior
  }

  @Test("All requirements except those about ends are satisfied, created in each of the document's ways")
  func conformance() async throws {
    let proxy = try LoopbackShadowsocksServer(Self.behavior(.aes256GCM))
    let network = proxy.dialer()
    await Self.expectConforming(
      try ShadowsocksConnectionFactory(
        to: Self.target, serverAddress: Self.address, method: .aes256GCM, password: Self.password, dialer: network))
    let tcp = DialerConnectionFactory(to: Self.address, dialer: network)
    await Self.expectConforming(
      try ShadowsocksConnectionFactory(
        to: Self.target, serverAddress: Self.address, method: .aes256GCM, password: Self.password, factory: tcp))
    await Self.expectConforming(
      EachTimeAnew {
        let connection = NetworkConnection(to: Self.address, using: .tcp, dialer: network)
        return try? ShadowsocksConnectionFactory(
          to: Self.target, serverAddress: Self.address, method: .aes256GCM, password: Self.password,
          connection: connection)
      })
    #expect(Set(proxy.targets) == ["echo.test:7"])
  }

  @Test(
    "The requirements are satisfied with every method, in small pieces", arguments: ShadowsocksServer.Method.allCases)
  func methods(method: ShadowsocksServer.Method) async throws {
    let proxy = try LoopbackShadowsocksServer(Self.behavior(method))
    let slow = proxy.dialer(shape: MemoryStream.Shape(longestRead: 100, capacity: 1000))
    await Self.expectConforming(
      try ShadowsocksConnectionFactory(
        to: Self.target, serverAddress: Self.address, method: method, password: Self.password, dialer: slow),
      bigLength: 40_000)
  }

  @Test("Datagrams, and TLS over one connection, return nil")
  func refusals() throws {
    let network = try LoopbackShadowsocksServer().dialer()
    let over = try ShadowsocksConnectionFactory(
      to: Self.target, serverAddress: Self.address, method: .chaCha20Poly1305, password: Self.password, dialer: network)
    #expect(over.connect(using: .udp) == nil)
    let connection = NetworkConnection(to: Self.address, using: .tcp, dialer: network)
    let single = try ShadowsocksConnectionFactory(
      to: Self.target, serverAddress: Self.address, method: .chaCha20Poly1305, password: Self.password,
      connection: connection)
    #expect(single.connect(using: .udp) == nil)
    #expect(single.connect(using: .tls) == nil)
  }

  @Test("An invalid password or address is refused when the factory is created")
  func badArguments() throws {
    let network = try LoopbackShadowsocksServer().dialer()
    func make(_ target: ConnectionEndpoint, _ address: ConnectionEndpoint, _ password: Secret)
      throws(ConfigurationError)
    {
      _ = try ShadowsocksConnectionFactory(
        to: target, serverAddress: address, method: .aes128GCM, password: password, dialer: network)
    }
    #expect(throws: ConfigurationError.self) { try make(Self.target, Self.address, "") }
    for other in [ConnectionEndpoint.unix(path: "/x"), .service(name: "a", type: "b", domain: "c")] {
      #expect(throws: ConfigurationError.self) { try make(Self.target, other, Self.password) }
      #expect(throws: ConfigurationError.self) { try make(other, Self.address, Self.password) }
    }
  }

  @Test("With another password receiving fails, and nothing earlier does, because the server sends nothing")
  func wrongPassword() async throws {
    var behavior = LoopbackShadowsocksBehavior()
    behavior.fault = .anotherPassword
    behavior.opening = [.payload([1])]
    let factory = try ShadowsocksConnectionFactory(
      to: Self.target, serverAddress: Self.address, method: .chaCha20Poly1305, password: Self.password,
      dialer: try LoopbackShadowsocksServer(behavior).dialer())
    let connection = try await factory.open(using: .tcp)
    do throws(ConnectionError) {
      _ = try await connection.receive(minimum: 1)
      Issue.record("the call must be refused")
    } catch {
      #expect(error.cause?.code == .handshakeFailed)
      #expect(error.cause?.engineCode == 1)
    }
  }
}
