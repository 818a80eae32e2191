// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting
import LastroTransports
import LastroTunnels
import PeerSupport
import TestSupport
import Testing

@Suite("obfs4proxy: obfs4 streams", .timeLimit(.minutes(15)))
struct WispPeerTests {
  private static let request = DialRequest(host: "any.test", port: 1, connectTimeout: .seconds(60))

  private static func dialer(_ line: String) throws -> any Dialer {
    WispDialer(try WispServer(line), over: try TestAuthority.engine())
  }

  @Test(
    "Bytes pass in both directions at once through an obfs4proxy, in every mode of either side",
    arguments: [(0, 0, 1 << 20), (1, 0, 1 << 18), (2, 0, 1 << 18), (0, 1, 1 << 18), (0, 2, 1 << 18)])
  func modes(mode: Int, serversMode: Int, count: Int) async throws {
    let echo = try LoopbackServer { try $0.echo() }
    let proxy = try await Obfs4ProxyPeer.server(to: echo.port, mode: serversMode)
    let stream = try await Self.dialer(proxy.bridgeLine(mode: mode)).dial(Self.request)
    try await stream.expectEcho(count)
    try await stream.expectEcho(1)
    stream.close()
    #expect(await eventually { echo.openConnections == 0 })
  }

  @Test("Large data passes unchanged in both directions; OBFS4_MEGABYTES sets its size")
  func much() async throws {
    let echo = try LoopbackServer { try $0.echo() }
    let proxy = try await Obfs4ProxyPeer.server(to: echo.port)
    let stream = try await Self.dialer(proxy.bridgeLine()).dial(Self.request)
    try await stream.expectMuch(megabytes: ProcessInfo.processInfo.environment["OBFS4_MEGABYTES"], otherwise: 4)
    stream.close()
  }

  @Test("A server with another certificate is silent, and the error at the limit says so")
  func wrongCertificate() async throws {
    let echo = try LoopbackServer { try $0.echo() }
    let proxy = try await Obfs4ProxyPeer.server(to: echo.port)
    let other = (proxy.certificate.hasPrefix("A") ? "B" : "A") + proxy.certificate.dropFirst()
    var request = Self.request
    request.connectTimeout = .seconds(5)
    let wrong = try Self.dialer("obfs4:127.0.0.1:\(proxy.port)?cert=\(other)")
    let error = try await transportError { try await wrong.dial(request) }
    #expect(error.stage == .timeout)
    #expect(error.code == .connectTimeout)
    #expect(!error.requestSent)
    #expect(!"\(error)".contains("127.0.0.1"))
    #expect(echo.acceptedConnections == 0)
  }

  @Test("A target's end is clean, and an unreachable target ends the stream")
  func ends() async throws {
    let server = try LoopbackServer { connection in
      try connection.write("all of it")
      connection.close()
    }
    let proxy = try await Obfs4ProxyPeer.server(to: server.port)
    let stream = try await Self.dialer(proxy.bridgeLine()).dial(Self.request)
    #expect(try await stream.rest() == Data("all of it".utf8))
    #expect(try await stream.read() == nil)
  }

  @Test("Pinned TLS over obfs4 over SOCKS 5 reaches a server behind both", .needsDante)
  func chain() async throws {
    let lab = try TestAuthority()
    let server = try lab.echo()
    let proxy = try await Obfs4ProxyPeer.server(to: server.port)
    let dante = try await DantePeer.start()
    defer { dante.stop() }
    let chain = try ViaChain(["socks5://127.0.0.1:\(dante.port)", proxy.bridgeLine()])
    let dialer = try chain.dialer(over: lab.base, connection: lab.options())
    let stream = try await dialer.dial(server.request())
    #expect(stream.facts.trust == .validated)
    try await stream.expectEcho(300_000)
  }
}
