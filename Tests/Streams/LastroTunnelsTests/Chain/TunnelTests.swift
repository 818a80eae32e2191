// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroStreamsTesting
import LastroTesting
import LastroTunnels
import TestSupport
import Testing

@Suite("Tunnels as functions", .timeLimit(.minutes(15)))
struct TunnelTests {
  private static let nowhere = NowhereDialer()

  @Test("A proxy has the host, the port and the login that are passed")
  func proxies() throws {
    let login = (user: "ann", password: Secret("open sesame"))
    let proxy = try ProxyServer(
      host: "p.test", port: 1080, credentials: .init(user: "ann", password: "open sesame"))
    let open = try ProxyServer(host: "p.test", port: 1080)
    let socks = try Tunnel.socks5(host: "p.test", port: 1080, login: login, over: Self.nowhere)
    #expect((socks as? SOCKS5Dialer)?.proxy == proxy)
    let openSOCKS = try Tunnel.socks5(host: "p.test", port: 1080, over: Self.nowhere)
    #expect((openSOCKS as? SOCKS5Dialer)?.proxy == open)

    let tls = DialRequest.TLS(applicationProtocols: ["http/1.1"])
    let http = try Tunnel.httpConnect(host: "p.test", port: 1080, login: login, tls: tls, over: Self.nowhere)
    #expect((http as? HTTPConnectDialer)?.proxy == proxy)
    #expect((http as? HTTPConnectDialer)?.tls?.applicationProtocols == ["http/1.1"])
    let openHTTP = try Tunnel.httpConnect(host: "p.test", port: 1080, over: Self.nowhere)
    #expect((openHTTP as? HTTPConnectDialer)?.proxy == open)
    #expect(openHTTP is HTTPConnectDialer && (openHTTP as? HTTPConnectDialer)?.tls == nil)
  }

  @Test("A proxy's port and login are checked")
  func refusedProxies() {
    #expect(throws: ConfigurationError.self) { try Tunnel.socks5(host: "p.test", port: 0, over: Self.nowhere) }
    #expect(throws: ConfigurationError.self) {
      try Tunnel.socks5(host: "p.test", port: 1, login: (user: "", password: "password"), over: Self.nowhere)
    }
    #expect(throws: ConfigurationError.self) {
      try Tunnel.httpConnect(host: "p.test", port: 1, login: (user: "a:b", password: "password"), over: Self.nowhere)
    }
  }

  @Test("Meek contacts the front, or the server itself")
  func meek() throws {
    let front = try #require(URL(string: "https://cdn.test"))
    let serverURL = try #require(URL(string: "https://meek.test/x"))
    let fronted = try Tunnel.meek(to: front, serverURL: serverURL, over: Self.nowhere)
    #expect(try (fronted as? MeekDialer)?.server == MeekServer(to: front, serverURL: serverURL))
    let direct = try Tunnel.meek(serverURL: serverURL, over: Self.nowhere)
    #expect(try (direct as? MeekDialer)?.server == MeekServer(serverURL))
    let plain = try #require(URL(string: "http://cdn.test"))
    #expect(throws: ConfigurationError.self) {
      try Tunnel.meek(to: plain, serverURL: serverURL, over: Self.nowhere)
    }
  }

  @Test("obfs4 uses the certificate and the mode it is given")
  func wisp() async throws {
    let server = try LoopbackObfs4Server()
    defer { server.stop() }
    let dialer = try Tunnel.wisp(
      host: "bridge.test", port: 443, certificate: Secret(server.certificate), over: server.dialer())
    #expect((dialer as? WispDialer)?.server.mode == .immediate)
    let stream = try await dialer.dial(DialRequest(host: "echo.test", port: 7, connectTimeout: .seconds(600)))
    try await stream.write(Data("hello".utf8))
    #expect(try await stream.bytes(exactly: 5) == Data("hello".utf8))
    let paused = try Tunnel.wisp(
      host: "bridge.test", port: 443, certificate: Secret(server.certificate), mode: .paused, over: Self.nowhere)
    #expect((paused as? WispDialer)?.server.mode == .paused)
    #expect(throws: ConfigurationError.self) {
      try Tunnel.wisp(host: "bridge.test", port: 443, certificate: "AQID", over: Self.nowhere)
    }
  }

  @Test("Shadowsocks has the method and the password that are passed")
  func shadowsocks() throws {
    let dialer = try Tunnel.shadowsocks(
      host: "s.test", port: 8388, method: .aes128GCM, password: "secret", over: Self.nowhere)
    let server = try ShadowsocksServer(host: "s.test", port: 8388, method: .aes128GCM, password: "secret")
    #expect((dialer as? ShadowsocksDialer)?.server == server)
    #expect(throws: ConfigurationError.self) {
      try Tunnel.shadowsocks(host: "s.test", port: 8388, method: .aes128GCM, password: "", over: Self.nowhere)
    }
  }
}
