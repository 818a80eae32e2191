// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroCurlTransports
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import LastroTunnels

private func dial(_ bridgeLine: String, _ base: any Dialer, _ options: ConnectionOptions) async throws -> any ByteStream
{
  // sample: bridge line
  let server = try WispServer(bridgeLine)
  let dialer = TLSDialer(over: WispDialer(server, over: base), connection: options)
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

private func connect(
  to address: ConnectionEndpoint, _ certificate: String, _ base: any Dialer
) async throws -> any Connection {
  // sample: factory
  let factory = try WispConnectionFactory(serverAddress: address, cert: certificate, iatMode: false, dialer: base)
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
    var behavior = LoopbackObfs4Behavior()
    behavior.target = .port(target.port)
    let bridge = try LoopbackObfs4Server(behavior)
    defer { bridge.stop() }

    let stream = try await dial(bridge.bridgeLine, hosts.engine, hosts.configuration.connection)
    try await stream.write(Data("hello".utf8))
    stage.check("TLS over obfs4 brings it back", try await stream.read() == Data("hello".utf8))
    stage.check("the host's certificate is checked", stream.facts.trust == .validated)
    stream.close()
    try await stage.prints("chain") { try chain(bridge.bridgeLine) }

    let echo = try LoopbackObfs4Server()
    defer { echo.stop() }
    guard let port = ConnectionEndpoint.Port("\(echo.port)") else { return }
    let connection = try await connect(
      to: .hostPort(host: "127.0.0.1", port: port), echo.certificate, hosts.engine)
    try await connection.send(Data("hello".utf8))
    stage.check("a connection does too", try await connection.receive(minimum: 5).data == Data("hello".utf8))
    connection.cancel()
  }
}
