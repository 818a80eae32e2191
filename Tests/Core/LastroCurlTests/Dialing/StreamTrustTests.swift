// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@Suite("Streams: trust", .timeLimit(.minutes(15)))
struct StreamTrustTests {
  private static let absent = "sha256/" + String(repeating: "A", count: 43) + "="
  private static let spare = "sha256/" + String(repeating: "B", count: 43) + "="

  /// A judge that calls a closure and records what it was asked.
  private final class Judge: ServerTrustJudge {
    private let decide: @Sendable (ServerTrust) -> TrustDecision
    private let log = Lock([ServerTrust]())
    private let number = Lock(UInt64(0))

    init(_ decide: @escaping @Sendable (ServerTrust) -> TrustDecision) { self.decide = decide }

    var asked: [ServerTrust] { log.withLock { $0 } }
    var revision: UInt64 { number.withLock { $0 } }
    func changeRules() { number.withLock { $0 += 1 } }

    func judge(_ trust: ServerTrust) throws(TrustFailure) -> TrustVerdict {
      log.withLock { $0.append(trust) }
      return try decide(trust).get()
    }
  }

  private static func evaluator(_ host: String, _ pin: String) throws -> ServerTrustEvaluator {
    let policy = try PinningPolicy(host, pins: [pin, spare])
    return ServerTrustEvaluator(
      configuration: try .init(pinningPolicies: [policy], allowNotPinnedDomains: true))
  }

  private func lab(_ judge: (any ServerTrustJudge)?) throws -> TrustingEngine {
    try TrustingEngine { configuration, _ in configuration.connection.tls.trustJudge = judge }
  }

  @Test("A pinned key is accepted and reported as pinned; another key is refused, and nothing is sent")
  func pins() async throws {
    let minted = try CertificateAuthority()
    let identity = try minted.issue(hosts: ["localhost"])
    let pin = try SPKIHash(pem: identity.certificatePEM).description
    let server = try LoopbackServer(tls: LoopbackTLS(identity), handler: { try $0.echo() })
    for (pin, isRight) in [(pin, true), (Self.absent, false)] {
      let lab = try self.lab(try Self.evaluator("localhost", pin))
      var request = lab.request(server)
      request.connection = lab.options { $0.tls.roots = .pem(Array(minted.rootPEM.utf8)) }
      if isRight {
        #expect(try await lab.dialer.dial(request).facts.trust == .pinned)
      } else {
        let error = try await transportError { try await lab.dialer.dial(request) }
        #expect(error.stage == .trust && error.code == .pinMismatch)
        #expect(error.trustFailure?.trust.port == server.port && error.trustFailure?.trust.role == .server)
      }
    }
    #expect(server.receivedBytes == 0)
  }

  @Test("A pinned host is not contacted without TLS, except as a proxy")
  func plaintext() async throws {
    let server = try LoopbackServer(handler: { try $0.echo() })
    let lab = try self.lab(try Self.evaluator("localhost", Self.absent))
    var request = DialRequest(host: "localhost", port: server.port)
    #expect(await words { try await lab.dialer.dial(request) } == "trust/plaintext_refused")
    #expect(await words { try lab.dialer.checkPlaintext(request) } == "trust/plaintext_refused")
    #expect(await words { try await lab.dialer.dialDatagrams(request) } == "trust/plaintext_refused")
    #expect(server.acceptedConnections == 0)
    request.role = .proxy
    try lab.dialer.checkPlaintext(request)
    _ = try await lab.dialer.dial(request)
    request.role = .server
    request.host = "127.0.0.1"
    try lab.dialer.checkPlaintext(request)
  }

  @Test("A stream that is dialed to a proxy is judged by the rules for proxies")
  func proxyRole() async throws {
    let judge = Judge { _ in .success(.validated) }
    let lab = try self.lab(judge)
    let server = try lab.server(tls: true, handler: { try $0.echo() })
    _ = try await lab.dial(server) { $0.role = .proxy }
    _ = try await lab.dial(server)
    #expect(judge.asked.map(\.role) == [.proxy, .server])
  }

  @Test("An untrusted chain and another host's certificate are refused as for a fetch")
  func ordinaryValidation() async throws {
    let lab = try TrustingEngine()
    let other = try TrustingEngine()
    let server = try other.server(tls: true, handler: { try $0.echo() })
    #expect(await words { try await lab.dial(server) } == "tls/untrusted_certificate")
    #expect(await words { try await other.dial(server) { $0.host = "127.0.0.1" } } == "tls/host_mismatch")
    #expect(
      await words { try await other.dial(server) { $0.tls?.serverName = "other.test" } } == "tls/host_mismatch")
    #expect(server.establishedConnections == 0 || server.receivedBytes == 0)
  }

  @Test("A separate server name is sent as SNI, and the certificate must match it")
  func serverName() async throws {
    let judge = Judge { _ in .success(.validated) }
    let lab = try self.lab(judge)
    let names = Lock([String?]())
    let identity = try lab.authority.issue(hosts: ["gemini.test"])
    let server = try LoopbackServer(tls: LoopbackTLS(identity)) { connection in
      names.withLock { $0.append(connection.serverName) }
      try connection.echo()
    }
    let stream = try await lab.dial(server) {
      $0.host = "127.0.0.1"
      $0.tls?.serverName = "GEMINI.test"
    }
    try await stream.write(Data("x".utf8))
    #expect(try await stream.read() == Data("x".utf8))
    #expect(names.withLock { $0 } == ["gemini.test"])
    #expect(judge.asked.map(\.host.text) == ["gemini.test"])
    #expect(await words { try await lab.dial(server) } == "tls/host_mismatch")
  }

  @Test(
    "One judge decides about the presented certificate without chain or host checks; the dialer's own judges the leaf")
  func judgedBy() async throws {
    let stranger = try CertificateAuthority()
    let identity = try stranger.issue(hosts: ["elsewhere.test"])
    let server = try LoopbackServer(tls: LoopbackTLS(identity), handler: { try $0.echo() })
    let standing = Judge { _ in .success(.validated) }
    let lab = try self.lab(standing)
    let judge = Judge { _ in .success(.reported) }
    let stream = try await lab.dial(server) { $0.tls?.soleJudge = judge }
    try await stream.write(Data("x".utf8))
    #expect(try await stream.read() == Data("x".utf8))
    #expect(stream.facts.trust == .reported)
    let asked = try #require(judge.asked.first)
    #expect(asked.chain == stream.facts.tls?.presentedChain && asked.host.text == "localhost")
    #expect(standing.asked.map(\.chain.count) == [1] && standing.asked.first?.chain.first == asked.chain.first)

    let refusing = Judge { .failure(TrustFailure(.refused("another key than last time"), trust: $0)) }
    let error = try await transportError {
      try await lab.dial(server) { $0.tls?.soleJudge = refusing }
    }
    #expect(error.stage == .trust && error.code == .trustRefused)
    // A request's judge that accepts everything does not overrule the dialer's own judge.
    let pinned = try self.lab(try Self.evaluator("localhost", Self.absent))
    #expect(
      await words { try await pinned.dial(server) { $0.tls?.soleJudge = judge } }
        == "trust/pin_mismatch")
  }

  @Test("When rules change, open streams continue, and new ones are judged by the new rules")
  func rulesChange() async throws {
    let judge = Judge { _ in .success(.validated) }
    let lab = try self.lab(judge)
    let server = try lab.server(tls: true, handler: { try $0.echo() })
    let stream = try await lab.dial(server)
    judge.changeRules()
    let other = try await lab.dial(server)
    for one in [stream, other] {
      try await one.write(Data("x".utf8))
      #expect(try await one.read() == Data("x".utf8))
    }
    #expect(judge.asked.count == 2 && server.fullHandshakes == 2 && server.resumedHandshakes == 0)
  }

  @Test("Rules that change during every handshake fail the dial and are not skipped")
  func unsteadyRules() async throws {
    let box = Lock(Judge?.none)
    let judge = Judge { _ in
      box.withLock { $0?.changeRules() }
      return .success(.validated)
    }
    box.withLock { $0 = judge }
    let lab = try self.lab(judge)
    let server = try lab.server(tls: true, handler: { try $0.echo() })
    #expect(await words { try await lab.dial(server) } == "trust/trust_refused")
    box.withLock { $0 = nil }
    #expect(server.receivedBytes == 0)
    #expect(await eventually { lab.dialer.activeStreams == 0 })
  }

  @Test("ALPN is offered only on request, and the selected protocol is reported")
  func applicationProtocols() async throws {
    let lab = try TrustingEngine()
    let server = try lab.server(
      tls: true, { $0.applicationProtocols = ["h2", "http/1.1", "mine"] }, handler: { try $0.echo() })
    #expect(try await lab.dial(server).facts.tls?.applicationProtocol == nil)
    let stream = try await lab.dial(server) { $0.tls?.applicationProtocols = ["mine", "http/1.1"] }
    #expect(stream.facts.tls?.applicationProtocol == "http/1.1")
    let own = try await lab.dial(server) { $0.tls?.applicationProtocols = ["mine"] }
    #expect(own.facts.tls?.applicationProtocol == "mine")
    try await own.write(Data("x".utf8))
    #expect(try await own.read() == Data("x".utf8))
    let long = String(repeating: "a", count: 256)
    for names in [[""], [long]] {
      #expect(
        await words { try await lab.dial(server) { $0.tls?.applicationProtocols = names } }
          == "request/invalid_option")
    }
  }

  @Test("A client certificate is presented", arguments: [TLSOptions.Version.v1_2, .v1_3])
  func clientCertificate(newest: TLSOptions.Version) async throws {
    let lab = try TrustingEngine()
    let root = lab.authority.rootPEM
    let names = Lock([String?]())
    let server = try lab.server(
      tls: true,
      {
        $0.clientAuthoritiesPEM = root
        $0.maximumVersion = newest
      },
      handler: { connection in
        names.withLock { $0.append(connection.clientName) }
        try connection.echo()
      })
    let identity = try lab.authority.issue(hosts: ["client.test"])
    let options = lab.options {
      $0.tls.identity = .init(
        certificate: .bytes(Array(identity.chainPEM.utf8)), key: .bytes(Array(identity.privateKeyPEM.utf8)))
    }
    let stream = try await lab.dial(server) { $0.connection = options }
    try await stream.write(Data("x".utf8))
    #expect(try await stream.read() == Data("x".utf8))
    #expect(names.withLock { $0.count } == 1)
  }

  @Test(
    "No proxy is presented a client certificate, whether the dialer's own or a request's", arguments: [false, true])
  func clientCertificateAndProxies(isNamed: Bool) async throws {
    let names = Lock([String?]())
    let client = try CertificateAuthority()
    let minted = try client.issue(hosts: ["client.test"])
    let identity = TLSOptions.Identity(
      certificate: .bytes(Array(minted.chainPEM.utf8)), key: .bytes(Array(minted.privateKeyPEM.utf8)))
    let edit: (inout TLSOptions) -> Void = {
      if isNamed { $0.hostIdentities = ["localhost": identity] } else { $0.identity = identity }
    }
    let lab = try TrustingEngine { configuration, _ in edit(&configuration.connection.tls) }
    let server = try lab.server(
      tls: true, { $0.clientAuthoritiesPEM = client.rootPEM },
      handler: { connection in
        names.withLock { $0.append(connection.clientName) }
        try connection.echo()
      })
    let own = lab.options { edit(&$0.tls) }
    for connection in [nil, own] {
      let stream = try await lab.dial(server) { $0.connection = connection }
      try await stream.write(Data("x".utf8))
      #expect(try await stream.read() == Data("x".utf8))
      let refused = await words {
        let stream = try await lab.dial(server) {
          $0.connection = connection
          $0.role = .proxy
        }
        try await stream.write(Data("x".utf8))
        return try await stream.read() as Any
      }
      #expect(!refused.hasPrefix("no error"), "\(refused)")
    }
    #expect(names.withLock { $0.count } == 2)
    #expect(names.withLock { $0.allSatisfy { $0 != nil } })
  }
}
