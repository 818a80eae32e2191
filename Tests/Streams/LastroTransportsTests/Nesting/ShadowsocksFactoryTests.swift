// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import LastroTunnels
import TestSupport
import Testing

@Suite("Shadowsocks as a connection factory", .timeLimit(.minutes(15)))
struct ShadowsocksFactoryTests {
  private static let address = ConnectionEndpoint.hostPort(host: "proxy.test", port: 8388)
  private static let target = ConnectionEndpoint.hostPort(host: "echo.test", port: 7)
  private static let password: Secret = "test-password"

  private static func expectConforming(
    _ factory: any ConnectionFactory, bigLength: Int = 200_000, sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let suite = ConnectionConformance(of: factory, bigLength: bigLength, checksEnds: false)
    let findings = await suite.brokenPromises()
    #expect(findings.isEmpty, "\(findings)", sourceLocation: sourceLocation)
  }

  /// Returns a closure that puts Shadowsocks over a dialer.
  private static func nest(
    _ method: ShadowsocksServer.Method, _ password: Secret = Self.password
  ) throws -> NetworkConnectionFactory.Nest {
    let server = try ShadowsocksServer(host: "proxy.test", port: 8388, method: method, password: password)
    return { ShadowsocksDialer(server, over: $0) }
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
    let nest = try Self.nest(.aes256GCM)
    await Self.expectConforming(NetworkConnectionFactory(to: Self.target, dialer: try nest(network)))
    let tcp = NetworkConnectionFactory(to: Self.address, dialer: network)
    await Self.expectConforming(try NetworkConnectionFactory(to: Self.target, factory: tcp, nesting: nest))
    await Self.expectConforming(
      EachTimeAnew {
        let connection = NetworkConnection(to: Self.address, using: .tcp, dialer: network)
        return try? NetworkConnectionFactory(to: Self.target, connection: connection, nesting: nest)
      })
    #expect(Set(proxy.targets) == ["echo.test:7"])
  }

  @Test(
    "The requirements are satisfied with every method, in small pieces", arguments: ShadowsocksServer.Method.allCases)
  func methods(method: ShadowsocksServer.Method) async throws {
    let proxy = try LoopbackShadowsocksServer(Self.behavior(method))
    let slow = proxy.dialer(shape: MemoryStream.Shape(longestRead: 100, capacity: 1000))
    await Self.expectConforming(
      NetworkConnectionFactory(to: Self.target, dialer: try Self.nest(method)(slow)), bigLength: 40_000)
  }

  @Test("Datagrams, and TLS over one connection, return nil")
  func refusals() throws {
    let network = try LoopbackShadowsocksServer().dialer()
    let nest = try Self.nest(.chaCha20Poly1305)
    let tcp = NetworkConnectionFactory(to: Self.address, dialer: network)
    let over = try NetworkConnectionFactory(to: Self.target, factory: tcp, nesting: nest)
    #expect(over.connect(using: .udp) == nil)
    let connection = NetworkConnection(to: Self.address, using: .tcp, dialer: network)
    let single = try NetworkConnectionFactory(to: Self.target, connection: connection, nesting: nest)
    #expect(single.connect(using: .udp) == nil)
    #expect(single.connect(using: .tls) == nil)
  }

  @Test("An empty password is refused when the server is described, and an address when the factory is created")
  func badArguments() throws {
    #expect(throws: ConfigurationError.self) { try Self.nest(.aes128GCM, "") }
    let nest = try Self.nest(.aes128GCM)
    let tcp = NetworkConnectionFactory(to: Self.address, dialer: try LoopbackShadowsocksServer().dialer())
    for other in [ConnectionEndpoint.unix(path: "/x"), .service(name: "a", type: "b", domain: "c")] {
      #expect(throws: ConfigurationError.self) {
        try NetworkConnectionFactory(to: other, factory: tcp, nesting: nest)
      }
    }
  }

  @Test("With another password receiving fails, and nothing earlier does, because the server sends nothing")
  func wrongPassword() async throws {
    var behavior = LoopbackShadowsocksBehavior()
    behavior.fault = .anotherPassword
    behavior.opening = [.payload([1])]
    let network = try LoopbackShadowsocksServer(behavior).dialer()
    let factory = NetworkConnectionFactory(to: Self.target, dialer: try Self.nest(.chaCha20Poly1305)(network))
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
