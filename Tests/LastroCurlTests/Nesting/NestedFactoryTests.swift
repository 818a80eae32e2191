// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting
import Testing

@Suite("Nested transports as connection factories", .timeLimit(.minutes(60)))
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

  @Test("TLS over an HTTP proxy, and meek, carry bytes as factories; UDP gives nil")
  func chain() async throws {
    let lab = try NestLab()
    let server = try lab.echo()
    let proxy = try LoopbackServer.tunnel()
    let tunnel = try HTTPConnectConnectionFactory(to: endpoint(server), serverAddress: endpoint(proxy))
    let tls = try TLSConnectionFactory(
      serverAddress: endpoint(server, "localhost"), options: lab.options, factory: tunnel)
    try await echo(tls)
    try await echo(TLSConnectionFactory(serverAddress: endpoint(server, "localhost"), options: lab.options))
    let peer = try LoopbackMeekServer()
    let url = try #require(URL(string: peer.server.baseURL))
    let meek = try MeekConnectionFactory(to: url, serverURL: url)
    try await echo(meek)
    let way = try HTTPConnectConnectionFactory(to: endpoint(peer.server), serverAddress: endpoint(proxy))
    let over = try MeekConnectionFactory(to: url, serverURL: url, factory: way)
    try await echo(over)
    for factory in [tunnel, tls, meek, over] as [any ConnectionFactory] { #expect(factory.connect(using: .udp) == nil) }
  }

  @Test("only addresses and names are servers")
  func endpoints() throws {
    let good = ConnectionEndpoint.hostPort(host: "a.test", port: 1)
    for bad in [ConnectionEndpoint.unix(path: "/x"), .service(name: "a", type: "b", domain: "c")] {
      #expect(throws: ConfigurationError.self) { try SOCKS5ConnectionFactory(to: good, serverAddress: bad) }
      #expect(throws: ConfigurationError.self) { try HTTPConnectConnectionFactory(to: bad, serverAddress: good) }
      #expect(throws: ConfigurationError.self) { try TLSConnectionFactory(serverAddress: bad) }
    }
  }
}
