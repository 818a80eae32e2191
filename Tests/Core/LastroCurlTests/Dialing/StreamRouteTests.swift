// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("Streams: routes to the host", .peers(.squid, .dante), .timeLimit(.minutes(15)))
struct StreamRouteTests {
  private var squid: Peer { get throws { try Peers.squid } }
  private var dante: Peer { get throws { try Peers.dante } }

  /// Returns options that use a proxy and also trust the proxy's authority.
  private func through(_ proxy: String, _ lab: TrustingEngine, to port: Int? = nil) throws -> ConnectionOptions {
    let authority = try Data(contentsOf: URL(filePath: try squid.certificates.authority))
    return lab.options {
      $0.proxy = .url(proxy)
      // Dante and the server support IPv4 only, and the address that libcurl passes to a proxy for a name depends on
      // its version.
      $0.resolutions = port.map { [.init(host: "localhost", port: $0, addresses: ["127.0.0.1"])] } ?? []
      $0.tls.roots = .pem(Array(lab.authority.rootPEM.utf8) + [UInt8](authority))
    }
  }

  private var ways: [String] {
    get throws {
      [
        "http://127.0.0.1:\(try squid.port)", "https://localhost:\(try squid.tlsPort)",
        "http://\(SquidPeer.user):\(SquidPeer.password)@127.0.0.1:\(try squid.authenticatedPort)",
        "socks5://127.0.0.1:\(try dante.port)", "socks5h://127.0.0.1:\(try dante.port)",
      ]
    }
  }

  @Test("Bytes pass through every kind of proxy, and the stream ends cleanly", .needsDante, arguments: [false, true])
  func proxies(tls: Bool) async throws {
    let lab = try TrustingEngine()
    let server = try lab.server(tls: tls, handler: { try $0.echo() })
    let sent = noise(700_000)
    for way in try ways {
      let options = try through(way, lab, to: server.port)
      let stream = try await lab.dial(server) { $0.connection = options }
      #expect(stream.facts.remotePort != server.port, "\(way)")
      #expect((stream.facts.tls != nil) == tls && stream.facts.trust == (tls ? .validated : .plain))
      async let writing: Void = stream.write(sent)
      #expect(try await stream.bytes(exactly: sent.count) == sent, "\(way)")
      try await writing
      // The stream finishes writing after all bytes have arrived, because squid closes both directions of a tunnel once
      // one is closed.
      try await stream.finishWriting()
      #expect(try await stream.read() == nil, "\(way)")
    }
  }

  @Test("Behind an HTTPS proxy, ALPN, host name and pins apply to the server")
  func tlsInTLS() async throws {
    let lab = try TrustingEngine()
    let identity = try lab.authority.issue(hosts: ["inner.test"])
    var tls = LoopbackTLS(identity)
    tls.applicationProtocols = ["mine"]
    let server = try LoopbackServer(tls: tls, handler: { try $0.echo() })
    let spare = "sha256/" + String(repeating: "B", count: 43) + "="
    let pin = try SPKIHash(pem: identity.certificatePEM).description
    let policy = try PinningPolicy("inner.test", pins: [pin, spare])
    var options = try through("https://localhost:\(try squid.tlsPort)", lab)
    options.tls.trustJudge = ServerTrustEvaluator(
      configuration: try .init(pinningPolicies: [policy], allowNotPinnedDomains: true))
    let stream = try await lab.dial(server) {
      $0.connection = options
      $0.tls = .init(serverName: "inner.test", applicationProtocols: ["mine"])
    }
    #expect(stream.facts.trust == .pinned && stream.facts.tls?.applicationProtocol == "mine")
    let own = try PeerCertificate.certificates(pem: identity.certificatePEM)
    #expect(stream.facts.tls?.presentedChain.first == own.first)
    try await stream.write(Data("x".utf8))
    #expect(try await stream.read() == Data("x".utf8))
  }

  @Test("Proxies that refuse, are unknown, untrusted or unreachable are reported as proxy failures")
  func proxyFailures() async throws {
    let lab = try TrustingEngine()
    let server = try lab.server(handler: { try $0.echo() })
    let dead = try Loopback.freePort()
    let cases: [(String, String, String)] = [
      ("http://127.0.0.1:\(dead)", "127.0.0.1", "proxy/proxy_connect_failed"),
      ("http://nobody.invalid:1", "127.0.0.1", "proxy/proxy_not_found"),
      ("http://127.0.0.1:\(try squid.authenticatedPort)", "127.0.0.1", "proxy/proxy_refused"),
      ("http://127.0.0.1:\(try squid.port)", "refused.test", "proxy/proxy_refused"),
    ]
    for (proxy, host, expected) in cases {
      let options = try through(proxy, lab)
      #expect(
        await words {
          try await lab.dial(server) {
            $0.connection = options
            $0.host = host
          }
        } == expected, "\(proxy)")
    }
    let port = try squid.tlsPort
    let untrusted = lab.options { $0.proxy = .url("https://localhost:\(port)") }
    #expect(
      await words { try await lab.dial(server) { $0.connection = untrusted } } == "proxy/untrusted_certificate")
    #expect(server.acceptedConnections == 0)
  }

  @Test("A Unix socket carries streams, with and without TLS", arguments: [false, true])
  func unixSocket(tls: Bool) async throws {
    let lab = try TrustingEngine()
    let directory = try PeerDirectory()
    let path = directory.file("s")
    let options = tls ? LoopbackTLS(try lab.authority.issue(hosts: ["service.test"])) : nil
    let server = try LoopbackServer(unixSocketPath: path, tls: options, handler: { try $0.echo() })
    let connection = lab.options { $0.unixSocketPath = path }
    let stream = try await lab.dialer.dial(
      DialRequest(host: "service.test", port: 1, tls: tls ? .init() : nil, connection: connection))
    try await stream.write(Data("hello".utf8))
    #expect(try await stream.read() == Data("hello".utf8))
    try await stream.finishWriting()
    #expect(try await stream.read() == nil)
    #expect(stream.facts.remoteAddress == path)
    #expect(stream.facts.remotePort == nil && stream.facts.localPort == nil)
    #expect(server.acceptedConnections == 1)
  }

  @Test("A fixed resolution is used for its own dial only")
  func resolutions() async throws {
    let lab = try TrustingEngine()
    let server = try lab.server(handler: { try $0.echo() })
    let options = lab.options {
      $0.resolutions = [.init(host: "api.lastro.test", port: server.port, addresses: ["127.0.0.1"])]
    }
    let stream = try await lab.dial(server) {
      $0.host = "api.lastro.test"
      $0.connection = options
    }
    try await stream.write(Data("x".utf8))
    #expect(try await stream.read() == Data("x".utf8))
    #expect(
      await words { try await lab.dial(server) { $0.host = "api.lastro.test" } } == "resolve/host_not_found")
  }

  @Test("The requested local address is used; one that does not belong to this machine fails")
  func localInterface() async throws {
    let lab = try TrustingEngine()
    let server = try lab.server(handler: { try $0.echo() })
    let options = lab.options { $0.localInterface = "127.0.0.1" }
    _ = try await lab.dial(server) { $0.connection = options }
    let foreign = lab.options { $0.localInterface = "192.0.2.77" }
    #expect(await words { try await lab.dial(server) { $0.connection = foreign } } == "connect/connect_failed")
  }
}
