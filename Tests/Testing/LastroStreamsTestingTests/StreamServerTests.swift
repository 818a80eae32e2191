// SPDX-License-Identifier: Apache-2.0

import LastroStreamsTesting
import LastroTesting
import TestSupport
import Testing

@Suite("Loopback stream servers: start and stop")
struct StreamServerTests {
  @Test("A stop ends open connections and refuses new ones, and a second one does nothing", arguments: StreamServer.all)
  func stop(_ kind: StreamServer) throws {
    let server = try kind.start()
    let client = try LoopbackClient(to: server.endpoint)
    server.stop()
    server.stop()
    #expect(client.receiveAll().text.isEmpty)
    #expect(throws: LoopbackError.disconnected) { try LoopbackClient(to: server.endpoint) }
  }

  @Test("A server that is dropped is stopped", arguments: StreamServer.all)
  func drop(_ kind: StreamServer) throws {
    var server: StreamServer.Started? = try kind.start()
    let endpoint = try #require(server).endpoint
    let client = try LoopbackClient(to: endpoint)
    server = nil
    #expect(client.receiveAll().text.isEmpty)
    #expect(throws: LoopbackError.disconnected) { try LoopbackClient(to: endpoint) }
  }

  @Test("An unusable certificate is refused", arguments: StreamServer.overTLS)
  func badCertificate(_ kind: StreamServer.OverTLS) throws {
    let error = #expect(throws: LoopbackError.self) {
      try kind.start(MintedCertificate(certificatePEM: "no certificate", privateKeyPEM: "no key"))
    }
    #expect("\(try #require(error))".hasPrefix("the loopback server's TLS cannot be set up: "))
  }
}

/// A kind of stream server.
struct StreamServer: Sendable, CustomTestStringConvertible {
  struct Started {
    let endpoint: LoopbackEndpoint
    let stop: () -> Void

    init(_ port: Int, stop: @escaping () -> Void) {
      endpoint = .port(UInt16(port))
      self.stop = stop
    }
  }

  struct OverTLS: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let start: @Sendable (MintedCertificate) throws -> Void
  }

  let testDescription: String
  let start: @Sendable () throws -> Started

  static let all = [
    StreamServer(testDescription: "WebSocket") {
      let server = try LoopbackWebSocketServer()
      return Started(server.port) { server.stop() }
    },
    StreamServer(testDescription: "Gemini") {
      let identity = try CertificateMint.selfSigned(hosts: ["localhost"])
      let server = try LoopbackGeminiServer(identity: identity) { _ in .silence }
      return Started(server.port) { server.stop() }
    },
    StreamServer(testDescription: "meek") {
      let server = try LoopbackTunnelServer.meek()
      return Started(server.port) { server.stop() }
    },
    StreamServer(testDescription: "obfs4") {
      let server = try LoopbackTunnelServer.obfs4()
      return Started(server.port) { server.stop() }
    },
    StreamServer(testDescription: "Shadowsocks") {
      let server = try LoopbackTunnelServer.shadowsocks()
      return Started(server.port) { server.stop() }
    },
  ]

  static let overTLS = [
    OverTLS(testDescription: "WebSocket") { _ = try LoopbackWebSocketServer(tls: LoopbackTLS($0)) },
    OverTLS(testDescription: "Gemini") { _ = try LoopbackGeminiServer(identity: $0) { _ in .silence } },
    OverTLS(testDescription: "meek") { _ = try LoopbackTunnelServer.meek(tls: LoopbackTLS($0)) },
  ]
}
