// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import LastroTunnels

private func dial(_ bridgeLine: String, _ base: any Dialer, _ options: ConnectionOptions) async throws -> any ByteStream
{
  // sample: bridge line
  let dialer = try ViaChain([bridgeLine]).dialer(over: base, connection: options)
  let stream = try await dialer.dial(DialRequest(host: "echo.example.org", port: 443, tls: .init()))
  // end
  return stream
}

private func chain(_ bridgeLine: String) throws {
  // sample: chain
  let chain = try ViaChain(["socks5://127.0.0.1:9050", bridgeLine])
  print(chain)
  // end
}

private func dial(uri: String, _ base: any Dialer, _ options: ConnectionOptions) async throws -> any ByteStream {
  // sample: Shadowsocks
  let dialer = try ViaChain([uri]).dialer(over: base, connection: options)
  let stream = try await dialer.dial(DialRequest(host: "echo.example.org", port: 443, tls: .init()))
  // end
  return stream
}

private func fetch(_ url: String, through uri: String, _ direct: CurlNetworkStack) async throws -> Data {
  // sample: fetch
  let stack = try ViaChain([uri]).stack(on: direct)
  let page = try await stack.fetch(.raw(try ResourceRequest(url: url)))
  // end
  return page.value
}

private func dialWrongly(
  _ host: String, _ port: Int, _ base: any Dialer, _ options: ConnectionOptions
) async throws {
  // sample: wrong password
  let wrong = try Tunnel.shadowsocks(
    host: host, port: port, method: .chaCha20Poly1305, password: "wrong", over: base)
  let dialer = wrong.addingTLS(connection: options)
  do {
    _ = try await dialer.dial(
      DialRequest(host: "echo.example.org", port: 443, tls: .init(), connectTimeout: .milliseconds(500)))
  } catch {
    print(error)
  }
  // end
}

private func connect(
  to address: ConnectionEndpoint, _ certificate: String, _ base: any Dialer
) async throws -> any Connection {
  // sample: factory
  let bridge = NetworkConnectionFactory(to: address, dialer: base)
  let factory = try WispConnectionFactory(serverAddress: address, cert: certificate, iatMode: false, factory: bridge)
  let connection = try await factory.open(using: .tcp)
  // end
  return connection
}

extension Page {
  static let hidingTraffic = Page("HidingTraffic") { stage in
    let hosts = try StreamHosts()
    let target = try LoopbackServer(tls: hosts.identity("echo.example.org")) { connection in
      while case let bytes = connection.read(max: 4096), !bytes.isEmpty { try connection.write(bytes) }
    }
    defer { target.stop() }
    let bridge = try LoopbackTunnelServer.obfs4(forwardingTo: target.port)
    defer { bridge.stop() }

    let stream = try await dial(bridge.hop, hosts.engine, hosts.configuration.connection)
    try await stream.write(Data("hello".utf8))
    stage.check("TLS over obfs4 brings it back", try await stream.read() == Data("hello".utf8))
    stage.check("the host's certificate is checked", stream.facts.trust == .validated)
    stream.close()
    try await stage.prints("chain") { try chain(bridge.hop) }

    let shadowsocks = try LoopbackTunnelServer.shadowsocks(forwardingTo: target.port)
    defer { shadowsocks.stop() }
    let through = try await dial(uri: shadowsocks.hop, hosts.engine, hosts.configuration.connection)
    try await through.write(Data("hello".utf8))
    stage.check("TLS over Shadowsocks brings it back", try await through.read() == Data("hello".utf8))
    stage.check("the host's name went to the server", shadowsocks.targets == ["echo.example.org:443"])
    through.close()
    let web = try LoopbackServer.http(tls: hosts.identity("www.example.org")) { _ in .text("a page") }
    defer { web.stop() }
    let asked = try LoopbackTunnelServer.shadowsocks(forwardingTo: web.port)
    defer { asked.stop() }
    let page = try await fetch(
      "https://www.example.org:\(web.port)/", through: asked.hop, CurlNetworkStack(hosts.configuration))
    stage.check("a page comes through it", page == Data("a page".utf8))
    try await stage.prints("wrong password") {
      let base = hosts.dialer(["proxy.example.org": shadowsocks.port])
      try await dialWrongly("proxy.example.org", 8388, base, hosts.configuration.connection)
    }

    let echo = try LoopbackTunnelServer.obfs4()
    defer { echo.stop() }
    guard let port = ConnectionEndpoint.Port("\(echo.port)"),
      let item = echo.hop.split(separator: " ").first(where: { $0.hasPrefix("cert=") })
    else { return }
    let connection = try await connect(
      to: .hostPort(host: "127.0.0.1", port: port), String(item.dropFirst("cert=".count)), hosts.engine)
    try await connection.send(Data("hello".utf8))
    stage.check("a connection does too", try await connection.receive(minimum: 5).data == Data("hello".utf8))
    connection.cancel()
  }
}
