// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroCurl
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import LastroTunnels
import PeerSupport
import TestSupport
import Testing

@Suite("Nested transports as connection factories", .timeLimit(.minutes(15)))
struct NestedFactoryTests {
  private func echo(_ factory: any ConnectionFactory, using parameters: ConnectionParameters = .tcp) async throws {
    let dialer = ConnectionFactoryDialer(factory, using: parameters)
    let stream = try await dialer.dial(DialRequest(host: "any.test", port: 1, connectTimeout: .seconds(600)))
    try await stream.expectEcho(50_000)
    stream.close()
  }

  private func endpoint(_ server: LoopbackServer, _ host: String = "127.0.0.1") throws -> ConnectionEndpoint {
    .hostPort(host: .init(host), port: try #require(.init("\(server.port)")))
  }

  private func server(_ endpoint: ConnectionEndpoint) throws -> ProxyServer {
    let (host, port) = try endpoint.serverAddress()
    return try ProxyServer(host: host, port: port)
  }

  /// Returns a factory of tunnels through an HTTP proxy that the shared engine dials.
  private func tunnel(
    to endpoint: ConnectionEndpoint, through proxy: ConnectionEndpoint
  ) throws -> NetworkConnectionFactory {
    let server = try server(proxy)
    return try NetworkConnectionFactory(to: endpoint, factory: NetworkConnectionFactory(to: proxy)) {
      try HTTPConnectDialer(proxy: server, over: $0)
    }
  }

  @Test("TLS over an HTTP proxy, and meek, carry bytes as factories, and UDP returns nil")
  func chain() async throws {
    let lab = try TestAuthority()
    let server = try lab.echo()
    let proxy = try LoopbackServer.tunnel()
    let tunnel = try tunnel(to: endpoint(server), through: endpoint(proxy))
    let options = lab.options()
    let tls = try NetworkConnectionFactory(
      to: endpoint(server, "localhost"), tls: DialRequest.TLS(), factory: tunnel
    ) { TLSDialer(over: $0, connection: options) }
    try await echo(tls)
    try await echo(
      NetworkConnectionFactory(to: endpoint(server, "localhost"), factory: tunnel) {
        TLSDialer(over: $0, connection: options)
      })
    let direct = NetworkConnectionFactory(
      to: try endpoint(server, "localhost"),
      dialer: CurlNetworkStack.sharedDialer.addingTLS(connection: options))
    try await echo(direct, using: ConnectionParameters(tls: DialRequest.TLS()))
    let peer = try LoopbackMeekServer()
    let url = try #require(URL(string: peer.server.baseURL))
    let meek = try MeekConnectionFactory(to: url, serverURL: url)
    try await echo(meek)
    let way = try self.tunnel(to: endpoint(peer.server), through: endpoint(proxy))
    let over = try MeekConnectionFactory(to: url, serverURL: url, factory: way)
    try await echo(over)
    for factory in [tunnel, tls, meek, over] as [any ConnectionFactory] { #expect(factory.connect(using: .udp) == nil) }
  }

  @Test("Only addresses and names are accepted as destinations of a tunnel, whose own errors are reported at once")
  func endpoints() throws {
    let good = ConnectionEndpoint.hostPort(host: "a.test", port: 1)
    let base = NetworkConnectionFactory(to: good)
    for bad in [ConnectionEndpoint.unix(path: "/x"), .service(name: "a", type: "b", domain: "c")] {
      #expect(throws: ConfigurationError.self) { try NetworkConnectionFactory(to: bad, factory: base) { $0 } }
      #expect(throws: ConfigurationError.self) {
        try NetworkConnectionFactory(to: bad, connection: NetworkConnection(to: good, using: .tcp)) { $0 }
      }
    }
    let proxy = try ProxyServer(host: "a.test", port: 1, credentials: .init(user: "a:b", password: "p"))
    #expect(throws: ConfigurationError.self) {
      try NetworkConnectionFactory(to: good, factory: base) { try HTTPConnectDialer(proxy: proxy, over: $0) }
    }
    let other = #expect(throws: ConfigurationError.self) {
      try NetworkConnectionFactory(to: good, factory: base) { _ in throw TestError(name: "no tunnel") }
    }
    #expect(other?.message.contains("no tunnel") == true)
  }

  @Test("A factory whose tunnel cannot be created again makes no connection")
  func brokenTunnel() throws {
    let endpoint = ConnectionEndpoint.hostPort(host: "a.test", port: 1)
    let calls = EventRecorder<Int>()
    let factory = try NetworkConnectionFactory(to: endpoint, factory: NetworkConnectionFactory(to: endpoint)) { below in
      // The first call is that of the initializer.
      guard calls.record(0) == 0 else { throw TestError(name: "no tunnel") }
      return below
    }
    #expect(factory.connect(using: .tcp) == nil)
    #expect(calls.count == 2)
  }

  @Test(
    "SOCKS 5 carries bytes as a factory through dante: by the shared engine, a dialer, a factory and one connection",
    .needsDante)
  func socks() async throws {
    let dante = try await DantePeer.start()
    defer { dante.stop() }
    let lab = try TestAuthority()
    let server = try LoopbackServer { try $0.echo() }
    let target = try endpoint(server)
    let proxy = ConnectionEndpoint.hostPort(host: "127.0.0.1", port: try #require(.init("\(dante.port)")))
    let below = NetworkConnectionFactory(to: proxy, dialer: lab.base)
    let connection = NetworkConnection(to: proxy, using: .tcp, dialer: lab.base)
    let address = try self.server(proxy)
    let nest: NetworkConnectionFactory.Nest = { try SOCKS5Dialer(proxy: address, over: $0) }
    for factory in [
      try NetworkConnectionFactory(to: target, factory: NetworkConnectionFactory(to: proxy), nesting: nest),
      try NetworkConnectionFactory(to: target, factory: below, nesting: nest),
      try NetworkConnectionFactory(to: target, connection: connection, nesting: nest),
    ] {
      try await echo(factory)
      #expect(factory.connect(using: .udp) == nil)
    }
    try await echo(NetworkConnectionFactory(to: target, dialer: try nest(lab.base)))
    #expect(server.acceptedConnections == 4)
  }

  @Test("The loss of a transport's only connection is reported, and no other is dialed", .needsDante)
  func oneConnection() async throws {
    let dante = try await DantePeer.start()
    defer { dante.stop() }
    let lab = try TestAuthority()
    let tls = try lab.tls()
    let losing: LoopbackServer.Handler = { connection in
      try connection.write(connection.read(max: 100))
      connection.closeWithoutNotify()
    }
    let tunnel = try LoopbackServer.tunnel()
    let socks = ConnectionEndpoint.hostPort(host: "127.0.0.1", port: try #require(.init("\(dante.port)")))
    for kind in 0...2 {
      let server = try LoopbackServer(tls: kind == 2 ? tls : nil, handler: losing)
      let target = try endpoint(server, "localhost")
      let factory: any ConnectionFactory
      switch kind {
      case 0:
        let proxy = try self.server(socks)
        factory = try NetworkConnectionFactory(
          to: target, connection: NetworkConnection(to: socks, using: .tcp, dialer: lab.base)
        ) { try SOCKS5Dialer(proxy: proxy, over: $0) }
      case 1:
        let proxy = try endpoint(tunnel)
        let address = try self.server(proxy)
        factory = try NetworkConnectionFactory(
          to: target, connection: NetworkConnection(to: proxy, using: .tcp, dialer: lab.base)
        ) { try HTTPConnectDialer(proxy: address, over: $0) }
      default:
        let options = lab.options()
        factory = try NetworkConnectionFactory(
          to: target, tls: DialRequest.TLS(), connection: NetworkConnection(to: target, using: .tcp, dialer: lab.base)
        ) { TLSDialer(over: $0, connection: options) }
      }
      // The layer underneath cannot provide TLS. The connection fails, because TLS must not be left out silently.
      #expect(factory.connect(using: .tls) == nil)
      let dialer = ConnectionFactoryDialer(factory)
      let anywhere = DialRequest(host: "any.test", port: 1, connectTimeout: .seconds(600))
      let stream = try await dialer.dial(anywhere)
      try await stream.write(Data("once".utf8))
      #expect(try await stream.bytes(exactly: 4) == Data("once".utf8))
      if kind == 2 {
        #expect(try await transportError { try await stream.read() }.code == .truncatedStream)
      } else {
        #expect(try await stream.read() == nil)
      }
      #expect(try await transportError { try await dialer.dial(anywhere) }.code == .connectionLost)
      #expect(server.acceptedConnections == 1)
    }
    #expect(tunnel.acceptedConnections == 1)
  }
}
