// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroStreamsTesting
import LastroTesting
import LastroTunnels
import PeerSupport
import TestSupport
import Testing

@Suite("obfs4proxy and ss-local as clients of the loopback servers", .ownThread, .timeLimit(.minutes(15)))
struct ForeignClientTests {
  private static func request(_ port: Int, _ host: String = "127.0.0.1") -> DialRequest {
    DialRequest(host: host, port: port, connectTimeout: .seconds(60))
  }

  private static func dialer(
    through client: Obfs4ProxyPeer.Client, to bridge: LoopbackObfs4Server, mode: Int
  ) throws -> any Dialer {
    let login = Obfs4ProxyPeer.Client.login(certificate: bridge.certificate, mode: mode)
    let proxy = try ProxyServer(
      host: "127.0.0.1", port: client.port,
      credentials: .init(user: login.user, password: Secret(login.password)))
    return try SOCKS5Dialer(proxy: proxy, over: TestAuthority.engine())
  }

  @Test("obfs4proxy's client accepts the loopback server in every mode", arguments: 0...2)
  func obfs4(mode: Int) async throws {
    var behavior = LoopbackObfs4Behavior()
    behavior.timing = mode
    let bridge = try LoopbackObfs4Server(behavior)
    let client = try await Obfs4ProxyPeer.client()
    let dialer = try Self.dialer(through: client, to: bridge, mode: mode == 2 ? 1 : mode)
    try await dialer.dial(Self.request(bridge.port)).expectEcho(mode == 0 ? 1 << 20 : 1 << 16)
  }

  @Test(
    "obfs4proxy's client refuses the same as ours",
    arguments: [
      LoopbackObfs4Behavior.HandshakeFault.wrongMark, .wrongMAC, .wrongAuthentication, .wrongHour, .garbage, .end,
    ])
  func obfs4Faults(fault: LoopbackObfs4Behavior.HandshakeFault) async throws {
    var behavior = LoopbackObfs4Behavior()
    behavior.handshakeFault = fault
    if fault == .wrongMark { behavior.responsePadding = 8096 }
    let bridge = try LoopbackObfs4Server(behavior)
    let client = try await Obfs4ProxyPeer.client()
    let dialer = try Self.dialer(through: client, to: bridge, mode: 0)
    let refused = try await transportError { try await dialer.dial(Self.request(bridge.port)) }
    #expect(refused.code == .proxyRefused)
    let own = WispDialer(try WispServer(bridge.bridgeLine), over: try TestAuthority.engine())
    let ours = try await transportError { try await own.dial(Self.request(1, "any.test")) }
    #expect(ours.stage == .proxy)
  }

  @Test(
    "ss-local accepts the loopback server, and waits at one with another password",
    arguments: ShadowsocksServer.Method.allCases)
  func shadowsocks(method: ShadowsocksServer.Method) async throws {
    let echo = try LoopbackServer { try $0.echo() }
    var behavior = LoopbackShadowsocksBehavior()
    behavior.method = method
    behavior.password = ShadowsocksPeer.password
    behavior.target = .asked
    let server = try LoopbackShadowsocksServer(behavior)
    for password in [ShadowsocksPeer.password, "wrong"] {
      let client = try await ShadowsocksPeer.client(of: server.port, method.rawValue, password: password)
      let proxy = try ProxyServer(host: "127.0.0.1", port: client.port)
      let dialer = try SOCKS5Dialer(proxy: proxy, over: TestAuthority.engine())
      let stream = try await dialer.dial(Self.request(echo.port))
      guard password != "wrong" else {
        try await stream.write(Data([1]))
        let error = try await transportError { try await stream.read(upTo: 1, within: .milliseconds(100)) }
        #expect(error.code == .idleTimeout)
        continue
      }
      try await stream.expectEcho(1 << 20)
      #expect(server.targets == ["127.0.0.1:\(echo.port)"])
    }
  }
}
