// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting
import LastroTransports
import LastroTunnels

private func connected(_ echo: ConnectionEndpoint) async throws {
  // sample: connection
  let connection = NetworkConnection(to: echo, using: .tcp)
  try await connection.start(within: .seconds(5))
  try await connection.send(Data("hello".utf8))
  let answer = try await connection.receive(minimum: 5, maximum: 5)
  print(String(decoding: answer.data, as: UTF8.self))
  connection.cancel()
  // end
}

private func secured(_ carrier: any ConnectionFactory, _ options: ConnectionOptions) throws -> any ConnectionFactory {
  // sample: tls
  let server = ConnectionEndpoint.hostPort(host: "echo.example.org", port: 7)
  let factory = try NetworkConnectionFactory(to: server, tls: DialRequest.TLS(), factory: carrier) {
    $0.addingTLS(connection: options)
  }
  // end
  return factory
}

private func chained(
  _ way: [String], _ stack: CurlNetworkStack, to echo: ConnectionEndpoint
) throws -> any ConnectionFactory {
  // sample: chain
  let chain = try ViaChain(way)
  let factory = NetworkConnectionFactory(to: echo, dialer: try chain.dialer(on: stack))
  // end
  return factory
}

private func bridged(_ endpoint: ConnectionEndpoint, proxy: ConnectionEndpoint) throws -> any ConnectionFactory {
  // sample: factory
  let factory = try NetworkConnectionFactory(to: endpoint, factory: NetworkConnectionFactory(to: proxy)) {
    try Tunnel.socks5(host: "proxy.example.org", port: 1080, over: $0)
  }
  // end
  return factory
}

extension Page {
  static let chains = Page("Chains") { stage in
    try await factories(stage, try StreamHosts())
  }
}

private let host = "echo.example.org"

private func factories(_ stage: Stage, _ hosts: StreamHosts) async throws {
  let plain = try LoopbackServer { connection in
    while case let bytes = connection.read(max: 65_536), !bytes.isEmpty { try connection.write(bytes) }
  }
  let tls = try echoServer(try hosts.identity(host))
  let localTLS = try echoServer(try hosts.identity("localhost"))
  let proxies = [try LoopbackServer.tunnel(), try LoopbackServer.tunnel()]
  defer { for server in [plain, tls, localTLS] + proxies { server.stop() } }

  try await stage.prints("connection") { try await connected(local(plain.port)) }
  let overTLS = try secured(NetworkConnectionFactory(to: local(tls.port)), hosts.configuration.connection)
  stage.check("TLS over the connections of another factory", try await echoes(overTLS, .tcp))

  let way = proxies.map { "http://127.0.0.1:\($0.port)" }
  let stack = try CurlNetworkStack(hosts.configuration)
  let overChain = try chained(way, stack, to: local(localTLS.port, host: "localhost"))
  stage.check("a factory over a chain, with the engine's roots", try await echoes(overChain, .tls))
  stage.check("which went through both proxies", proxies.allSatisfy { $0.requests.count == 1 })
  _ = try bridged(local(1), proxy: local(2))
}

private func local(_ port: Int, host: String = "127.0.0.1") -> ConnectionEndpoint {
  .hostPort(host: ConnectionEndpoint.Host(host), port: ConnectionEndpoint.Port(rawValue: UInt16(port)) ?? .https)
}

private func echoes(_ factory: any ConnectionFactory, _ parameters: ConnectionParameters) async throws -> Bool {
  let connection = try await factory.open(using: parameters, within: .seconds(60))
  defer { connection.cancel() }
  try await connection.send(Data("hello".utf8))
  return try await connection.receive(minimum: 5, maximum: 5).data == Data("hello".utf8)
}
