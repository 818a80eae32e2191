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

@Suite("shadowsocks-libev: Shadowsocks streams", .timeLimit(.minutes(15)))
struct ShadowsocksPeerTests {
  private static let methods = ShadowsocksServer.Method.allCases

  private static func dialer(_ uri: String) throws -> any Dialer {
    ShadowsocksDialer(try ShadowsocksServer(uri), over: try TestAuthority.engine())
  }

  private static func request(_ port: Int, _ host: String = "127.0.0.1") -> DialRequest {
    DialRequest(host: host, port: port, connectTimeout: .seconds(60))
  }

  @Test(
    "Large data passes unchanged in both directions through an ss-server; SHADOWSOCKS_MEGABYTES sets its size",
    arguments: methods)
  func much(method: ShadowsocksServer.Method) async throws {
    let echo = try LoopbackServer { try $0.echo() }
    let proxy = try await ShadowsocksPeer.server(method.rawValue)
    let stream = try await Self.dialer(proxy.shadowsocksURI(method.rawValue)).dial(Self.request(echo.port))
    try await stream.expectEcho(1)
    try await stream.expectMuch(megabytes: ProcessInfo.processInfo.environment["SHADOWSOCKS_MEGABYTES"], otherwise: 4)
    stream.close()
    #expect(await eventually { echo.openConnections == 0 })
  }

  @Test(
    "A target that speaks first is read before anything is written, and its end is clean", arguments: methods)
  func targetSpeaksFirst(method: ShadowsocksServer.Method) async throws {
    let server = try LoopbackServer { connection in
      try connection.write("all of it")
      connection.close()
    }
    let proxy = try await ShadowsocksPeer.server(method.rawValue)
    let stream = try await Self.dialer(proxy.shadowsocksURI(method.rawValue)).dial(Self.request(server.port))
    #expect(try await stream.rest() == Data("all of it".utf8))
    #expect(try await stream.read() == nil)
  }

  @Test("IPv6 addresses and names reach the server as such, and it resolves names")
  func addresses() async throws {
    let echo = try LoopbackServer { try $0.echo() }
    let proxy = try await ShadowsocksPeer.server("aes-128-gcm")
    let dialer = try Self.dialer(proxy.shadowsocksURI("aes-128-gcm"))
    try await dialer.dial(Self.request(echo.port, "localhost")).expectEcho()
    let mapped = try await dialer.dial(Self.request(echo.port, "::ffff:127.0.0.1"))
    try await mapped.expectEcho()
  }

  @Test("A wrong password or method leads to silence; the read's limit ends it and names the possible cause")
  func wrongPassword() async throws {
    let echo = try LoopbackServer { try $0.echo() }
    let proxy = try await ShadowsocksPeer.server("aes-256-gcm")
    for user in ["aes-256-gcm:wrong", "chacha20-ietf-poly1305:pass%3Aword%2F%C3%9F"] {
      let stream = try await Self.dialer("ss://\(user)@127.0.0.1:\(proxy.port)").dial(Self.request(echo.port))
      try await stream.write(Data("hello".utf8))
      let error = try await transportError { try await stream.read(upTo: 1, within: .milliseconds(300)) }
      #expect(error.stage == .timeout && error.code == .idleTimeout)
      #expect(error.hint?.contains("check password and method") == true)
    }
    #expect(echo.acceptedConnections == 0)
  }

  @Test("An unreachable target ends the stream without data")
  func unreachable() async throws {
    let proxy = try await ShadowsocksPeer.server("chacha20-ietf-poly1305")
    let dialer = try Self.dialer(proxy.shadowsocksURI("chacha20-ietf-poly1305"))
    // No server listens at the lowest port.
    let stream = try await dialer.dial(Self.request(1))
    try await stream.write(Data([1]))
    let error = try await transportError { try await stream.read() }
    #expect(error.stage == .proxy && error.code == .proxyRefused && error.requestSent)
  }

  @Test("Pinned TLS over Shadowsocks over SOCKS 5 reaches a server behind both", .needsDante)
  func chain() async throws {
    let lab = try TestAuthority()
    let server = try lab.echo()
    let proxy = try await ShadowsocksPeer.server("aes-128-gcm")
    let dante = try await DantePeer.start()
    defer { dante.stop() }
    let chain = try ViaChain(["socks5://127.0.0.1:\(dante.port)", proxy.shadowsocksURI("aes-128-gcm")])
    let dialer = try chain.dialer(over: lab.base, connection: lab.options())
    let stream = try await dialer.dial(server.request())
    #expect(stream.facts.trust == .validated)
    try await stream.expectEcho(300_000)
  }
}
