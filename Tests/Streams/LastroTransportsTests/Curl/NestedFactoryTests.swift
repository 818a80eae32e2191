// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroCurl
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import PeerSupport
import TestSupport
import Testing

@Suite("Nested transports as connection factories", .timeLimit(.minutes(5)))
struct NestedFactoryTests {
  private func echo(_ factory: any ConnectionFactory) async throws {
    let dialer = ConnectionFactoryDialer(factory)
    let stream = try await dialer.dial(DialRequest(host: "any.test", port: 1, connectTimeout: .seconds(600)))
    try await stream.expectEcho(50_000)
    stream.close()
  }

  private func endpoint(_ server: LoopbackServer, _ host: String = "127.0.0.1") throws -> ConnectionEndpoint {
    .hostPort(host: .init(host), port: try #require(.init("\(server.port)")))
  }

  @Test("TLS over an HTTP proxy, and meek, carry bytes as factories, and UDP returns nil")
  func chain() async throws {
    let lab = try TestAuthority()
    let server = try lab.echo()
    let proxy = try LoopbackServer.tunnel()
    let tunnel = try HTTPConnectConnectionFactory(to: endpoint(server), serverAddress: endpoint(proxy))
    let tls = try TLSConnectionFactory(
      serverAddress: endpoint(server, "localhost"), options: lab.options(), factory: tunnel)
    try await echo(tls)
    try await echo(TLSConnectionFactory(serverAddress: endpoint(server, "localhost"), options: lab.options()))
    let peer = try LoopbackMeekServer()
    let url = try #require(URL(string: peer.server.baseURL))
    let meek = try MeekConnectionFactory(to: url, serverURL: url)
    try await echo(meek)
    let way = try HTTPConnectConnectionFactory(to: endpoint(peer.server), serverAddress: endpoint(proxy))
    let over = try MeekConnectionFactory(to: url, serverURL: url, factory: way)
    try await echo(over)
    for factory in [tunnel, tls, meek, over] as [any ConnectionFactory] { #expect(factory.connect(using: .udp) == nil) }
  }

  @Test("Only addresses and names are accepted as servers")
  func endpoints() throws {
    let good = ConnectionEndpoint.hostPort(host: "a.test", port: 1)
    for bad in [ConnectionEndpoint.unix(path: "/x"), .service(name: "a", type: "b", domain: "c")] {
      #expect(throws: ConfigurationError.self) { try SOCKS5ConnectionFactory(to: good, serverAddress: bad) }
      #expect(throws: ConfigurationError.self) { try HTTPConnectConnectionFactory(to: bad, serverAddress: good) }
      #expect(throws: ConfigurationError.self) { try TLSConnectionFactory(serverAddress: bad) }
    }
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
    let below = DialerConnectionFactory(to: proxy, dialer: lab.base)
    let connection = NetworkConnection(to: proxy, using: .tcp, dialer: lab.base)
    for factory in [
      try SOCKS5ConnectionFactory(to: target, serverAddress: proxy),
      try SOCKS5ConnectionFactory(to: target, serverAddress: proxy, dialer: lab.base),
      try SOCKS5ConnectionFactory(to: target, serverAddress: proxy, factory: below),
      try SOCKS5ConnectionFactory(to: target, serverAddress: proxy, connection: connection),
    ] {
      try await echo(factory)
      #expect(factory.connect(using: .udp) == nil)
    }
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
        factory = try SOCKS5ConnectionFactory(
          to: target, serverAddress: socks, connection: NetworkConnection(to: socks, using: .tcp, dialer: lab.base))
      case 1:
        let proxy = try endpoint(tunnel)
        factory = try HTTPConnectConnectionFactory(
          to: target, serverAddress: proxy, connection: NetworkConnection(to: proxy, using: .tcp, dialer: lab.base))
      default:
        factory = try TLSConnectionFactory(
          serverAddress: target, options: lab.options(),
          connection: NetworkConnection(to: target, using: .tcp, dialer: lab.base))
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
