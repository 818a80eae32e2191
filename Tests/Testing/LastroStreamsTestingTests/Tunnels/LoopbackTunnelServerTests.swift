// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroStreamsTesting
import LastroTesting
import LastroTunnels
import TestSupport
import Testing

@Suite("Loopback tunnel servers", .timeLimit(.minutes(15)))
struct LoopbackTunnelServerTests {
  private static let starts: [@Sendable (Int?) throws -> LoopbackTunnelServer] = [
    { try .meek(forwardingTo: $0) }, { try .obfs4(forwardingTo: $0) }, { try .shadowsocks(forwardingTo: $0) },
  ]

  private static func stream(through server: LoopbackTunnelServer) async throws -> any ByteStream {
    let dialer = try ViaChain([server.hop]).dialer(over: TestAuthority.engine()) { $0 }
    return try await dialer.dial(DialRequest(host: "echo.test", port: 7, connectTimeout: .seconds(60)))
  }

  @Test("A chain of the server's hop leads to an echo, or to the port that is passed", arguments: 0..<3)
  func targets(kind: Int) async throws {
    let echo = try Self.starts[kind](nil)
    try await Self.stream(through: echo).expectEcho()

    let target = try LoopbackServer { connection in
      _ = connection.read(max: 1)
      try connection.write(Array("target".utf8))
    }
    let forwarding = try Self.starts[kind](target.port)
    let stream = try await Self.stream(through: forwarding)
    try await stream.write(Data([1]))
    #expect(try await stream.bytes(exactly: 6) == Data("target".utf8))
    stream.close()
  }

  @Test("A server of Shadowsocks records the targets of its clients, in order")
  func recordedTargets() async throws {
    let server = try LoopbackTunnelServer.shadowsocks()
    #expect(server.targets.isEmpty)
    try await Self.stream(through: server).expectEcho()
    #expect(server.targets == ["echo.test:7"])
  }
}
