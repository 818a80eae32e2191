// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroStreamsTesting
import LastroTesting
import LastroTunnels
import TestSupport
import Testing

@Suite("Loopback Shadowsocks server", .timeLimit(.minutes(15)))
struct LoopbackShadowsocksTests {
  private static let password = LoopbackShadowsocksBehavior().password
  /// The address `any.test`, port 7, in the format of SOCKS 5.
  private static let name = [3, 8] + Array("any.test".utf8) + [0, 7]

  private func server(
    _ edit: (inout LoopbackShadowsocksBehavior) -> Void = { _ in }
  ) throws -> LoopbackShadowsocksServer {
    var behavior = LoopbackShadowsocksBehavior()
    edit(&behavior)
    return try LoopbackShadowsocksServer(behavior)
  }

  /// Returns a client that has sent its salt, an address and "hello".
  private func client(
    of server: LoopbackShadowsocksServer, _ address: [UInt8] = name, salt: UInt8 = 0, password: String = password
  ) throws -> LoopbackClient {
    let key = try ShadowsocksKey(password: Array(password.utf8), method: .chaCha20Poly1305)
    var writer = try ShadowsocksWriter(key, salt: [UInt8](repeating: salt, count: 32))
    var bytes: [UInt8] = []
    try writer.write((address + Array("hello".utf8))[...], into: &bytes)
    let client = try LoopbackClient(to: server.server.endpoint)
    try client.send(bytes)
    return client
  }

  private func expectHello(from client: LoopbackClient) throws {
    var reader = ShadowsocksReader(
      try ShadowsocksKey(password: Array(Self.password.utf8), method: .chaCha20Poly1305))
    var payload: [UInt8] = []
    while payload.count < 5, case let (bytes, ending) = client.receive(), ending == nil {
      try reader.receive(bytes, into: &payload)
    }
    #expect(payload == Array("hello".utf8))
  }

  private func expectSilence(from client: LoopbackClient) {
    client.halfClose()
    #expect(client.receiveAll() == ("", .orderly))
  }

  @Test("A URI leads to the server, at its port or at another address", arguments: ShadowsocksServer.Method.allCases)
  func uri(method: ShadowsocksServer.Method) async throws {
    let proxy = try server {
      $0.method = method
      $0.password = "pass/wörd+?"
    }
    for uri in [proxy.uri, proxy.uri(host: "proxy.test", port: 8388)] {
      let server = try ShadowsocksServer(uri)
      #expect(server.method == method)
      let dialer = ShadowsocksDialer(server, over: proxy.dialer(shape: .init(longestRead: 7)))
      try await dialer.dial(DialRequest(host: "any.test", port: 7, connectTimeout: nil)).expectEcho(3000)
    }
    #expect(try ShadowsocksServer(proxy.uri).port == proxy.port)
    #expect(proxy.targets == ["any.test:7", "any.test:7"])
  }

  @Test("The server echoes or connects to the requested port of this machine, and records the targets")
  func targets() throws {
    let echo = try LoopbackServer { try $0.echo() }
    let port = [UInt8(echo.port >> 8), UInt8(echo.port & 0xFF)]
    let asked = try server { $0.target = .asked }
    try expectHello(from: client(of: asked, [1, 192, 0, 2, 1] + port))
    #expect(asked.targets == ["192.0.2.1:\(echo.port)"])
    #expect(echo.acceptedConnections == 1)
    let itself = try server()
    try expectHello(from: client(of: itself))
    #expect(itself.targets == ["any.test:7"])
  }

  @Test("An unreachable target ends the stream without data")
  func lostTarget() throws {
    let gone = try LoopbackServer { _ in }
    gone.stop()
    let proxy = try server { $0.target = .port(gone.port) }
    #expect(try client(of: proxy).receiveAll() == ("", .orderly))
  }

  @Test("The server is silent to a repeated salt, another password, and an address of an unknown type")
  func silence() throws {
    let proxy = try server()
    try expectHello(from: client(of: proxy))
    expectSilence(from: try client(of: proxy))
    expectSilence(from: try client(of: proxy, salt: 1, password: "wrong"))
    expectSilence(from: try client(of: proxy, [9, 9, 9], salt: 2))
    try expectHello(from: client(of: proxy, salt: 3))
    #expect(proxy.targets == ["any.test:7", "any.test:7"])
  }

  @Test("Numbers out of range do not trap")
  func strangeNumbers() throws {
    let proxy = try server {
      $0.pieceBytes = 0
      $0.reply = [.part([1], bytes: -1), .end]
    }
    let answer = try client(of: proxy).receiveAll()
    #expect(!answer.text.isEmpty && answer.ending == .orderly)
    let cut = try server { $0.cutAfter = -1 }
    #expect(try client(of: cut).receiveAll() == ("", .orderly))
  }
}
