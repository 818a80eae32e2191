// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroCurl
import LastroSupport
import LastroTesting
import LastroTunnels
import TestSupport
import Testing

@Suite("TLS over a dialer: trust", .timeLimit(.minutes(15)))
struct TLSOverStreamTrustTests {
  let lab: TestAuthority

  init() throws { lab = try TestAuthority() }

  /// Dials, expects a refusal, and asserts that the server received no application data.
  private func refusal(
    _ server: LoopbackServer, _ dialer: any Dialer, _ request: DialRequest,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> TransportError {
    let error = try await transportError(sourceLocation: sourceLocation) { try await dialer.dial(request) }
    #expect(!error.requestSent, sourceLocation: sourceLocation)
    #expect(server.receivedBytes == 0, sourceLocation: sourceLocation)
    return error
  }

  @Test("An untrusted certificate, one for another host, and an expired one are refused")
  func chains() async throws {
    let stranger = try LoopbackServer(tls: LoopbackTLS(CertificateAuthority().issue(hosts: ["localhost"]))) {
      try $0.echo()
    }
    #expect(
      try await refusal(stranger, lab.dialer(), stranger.request()).code == .untrustedCertificate)
    let other = try LoopbackServer(tls: lab.tls("other.test")) { try $0.echo() }
    #expect(try await refusal(other, lab.dialer(), other.request()).code == .hostMismatch)
    #expect(
      try await refusal(other, lab.dialer(), other.request("127.0.0.1", tls: .init())).code == .hostMismatch)
    let old = try LoopbackServer(
      tls: LoopbackTLS(lab.authority.issue(hosts: ["localhost"], days: -366 ... -1))
    ) { try $0.echo() }
    let expired = try await refusal(old, lab.dialer(), old.request())
    #expect(expired.code == .certificateExpired)
    #expect(expired.stage == .tls)
    #expect(try await refusal(old, lab.dialer(), old.request(role: .proxy)).stage == .proxy)
    // The certificate is right for the other name.
    _ = try await lab.dialer().dial(other.request(tls: .init(serverName: "other.test"))).expectEcho()
  }

  @Test("A matching pin is accepted; another is refused before application data is sent")
  func pins() async throws {
    let tls = try lab.tls()
    let server = try LoopbackServer(tls: tls) { try $0.echo() }
    let right = try TestAuthority.evaluator("localhost", pin: TestAuthority.pin(tls.identity))
    let stream = try await lab.dialer { $0.trustJudge = right }.dial(server.request())
    #expect(stream.facts.trust == .pinned)
    try await stream.expectEcho()

    let wrong = try TestAuthority.evaluator("localhost", pin: TestAuthority.absentPin)
    let fresh = try LoopbackServer(tls: tls) { try $0.echo() }
    let error = try await refusal(fresh, lab.dialer { $0.trustJudge = wrong }, fresh.request())
    #expect(error.stage == .trust)
    #expect(error.code == .pinMismatch)
    #expect(error.trustFailure != nil)
    // The judge of a request is asked in addition.
    let both = try await refusal(
      fresh, lab.dialer { $0.trustJudge = right }, fresh.request(connection: lab.options { $0.tls.trustJudge = wrong }))
    #expect(both.code == .pinMismatch)
    let standing = try await refusal(
      fresh, lab.dialer { $0.trustJudge = wrong }, fresh.request(connection: lab.options { $0.tls.trustJudge = right }))
    #expect(standing.code == .pinMismatch)
  }

  @Test("A pinned host is not contacted in the clear, except as a proxy")
  func plaintext() async throws {
    let server = try LoopbackServer { try $0.echo() }
    let judge = try TestAuthority.evaluator("localhost", pin: TestAuthority.absentPin, allowsOthers: false)
    let dialer = lab.dialer { $0.trustJudge = judge }
    for host in ["localhost", "127.0.0.1"] {
      let error = try await transportError { try await dialer.dial(server.request(host, tls: nil)) }
      #expect(error.stage == .trust)
    }
    #expect(server.acceptedConnections == 0)
    try await dialer.dial(server.request(tls: nil, role: .proxy)).expectEcho()

    // The engine below has the pins, and the transport between the two asks its judge.
    let pinned = try TestAuthority.engine { $0.connection.tls.trustJudge = judge }
    let proxy = try SOCKS5Dialer(proxy: ProxyServer(host: "127.0.0.1", port: server.port), over: pinned)
    let refused = try await transportError {
      try await TLSDialer(over: proxy).dial(server.request(tls: nil))
    }
    #expect(refused.code == .plaintextRefused)
    #expect(server.acceptedConnections == 1)
  }

  @Test("A judge may decide alone about the presented certificate")
  func presented() async throws {
    let stranger = try CertificateAuthority()
    let identity = try stranger.issue(hosts: ["elsewhere.test"], days: -366 ... -1)
    let server = try LoopbackServer(tls: LoopbackTLS(identity)) { try $0.echo() }
    let judge = ScriptedJudge(accepts: { _ in true })
    let standing = ScriptedJudge(accepts: { _ in true })
    let dialer = lab.dialer { $0.trustJudge = standing }
    let stream = try await dialer.dial(server.request(tls: .init(soleJudge: judge)))
    try await stream.expectEcho()
    #expect(try judge.asked.map { $0.chain.first?.pin.description } == [TestAuthority.pin(identity)])
    #expect(judge.asked.first?.host.text == "localhost")
    #expect(standing.asked.map(\.chain.count) == [1])

    let fresh = try LoopbackServer(tls: LoopbackTLS(identity)) { try $0.echo() }
    let no = ScriptedJudge(accepts: { _ in false })
    #expect(
      try await refusal(fresh, lab.dialer(), fresh.request(tls: .init(soleJudge: no))).code
        == .trustRefused)
    #expect(
      try await refusal(
        fresh, lab.dialer { $0.trustJudge = no }, fresh.request(tls: .init(soleJudge: judge))
      ).code == .trustRefused)
  }

  @Test("A client certificate is presented to servers, by host, and not to proxies")
  func identities() async throws {
    let names = Lock([String?]())
    var tls = try lab.tls()
    tls.clientAuthoritiesPEM = lab.authority.rootPEM
    let server = try LoopbackServer(tls: tls) { connection in
      names.withLock { $0.append(connection.clientName) }
      try connection.echo()
    }
    let client = try lab.authority.issue(hosts: ["client.test"])
    let identity = TLSOptions.Identity(
      certificate: .bytes(Array(client.chainPEM.utf8)), key: .bytes(Array(client.privateKeyPEM.utf8)))
    try await lab.dialer { $0.identity = identity }.dial(server.request()).expectEcho()
    try await lab.dialer { $0.hostIdentities = ["localhost": identity] }.dial(server.request()).expectEcho()
    #expect(names.withLock { $0.count } == 2)
    #expect(names.withLock { $0.allSatisfy { $0 != nil } })

    for (dialer, role) in [
      (lab.dialer(), ServerTrust.Role.server), (lab.dialer { $0.hostIdentities = ["other.test": identity] }, .server),
      (lab.dialer { $0.identity = identity }, .proxy),
    ] {
      // TLS 1.3 reports the refusal after the handshake.
      let error = try await transportError {
        let stream = try await dialer.dial(server.request(role: role))
        return try await stream.read()
      }
      #expect(error.code == .clientCertificateRequired)
      #expect(error.message.contains("alert \"certificate required\""))
    }
    let broken = TLSOptions.Identity(
      certificate: .bytes(Array(client.chainPEM.utf8)), key: .bytes(Array(tls.identity.privateKeyPEM.utf8)))
    for identity in [broken, .init(certificate: .bytes([])), .init(certificate: .file("/nonexistent"))] {
      let error = try await transportError {
        try await lab.dialer { $0.identity = identity }.dial(server.request())
      }
      #expect(error.code == .invalidTLSConfiguration)
    }
  }

  @Test("TLS versions and ciphers are enforced")
  func versions() async throws {
    let old = try lab.echo { $0.maximumVersion = .v1_2 }
    let error = try await refusal(old, lab.dialer { $0.minimumVersion = .v1_3 }, old.request())
    #expect(error.code == .handshakeFailed)
    #expect(error.stage == .tls)
    let chosen = try await lab.dialer { $0.legacyCiphers = ["ECDHE-ECDSA-AES256-GCM-SHA384"] }.dial(old.request())
    #expect(chosen.facts.tls?.cipher == "ECDHE-ECDSA-AES256-GCM-SHA384")
    let new = try lab.echo()
    let limited = try await lab.dialer { $0.maximumVersion = .v1_2 }.dial(new.request())
    #expect(limited.facts.tls?.version == "TLSv1.2")
    let newest = try await lab.dialer { $0.maximumVersion = .v1_3 }.dial(new.request())
    #expect(newest.facts.tls?.version == "TLSv1.3")
    let suite = try await lab.dialer { $0.cipherSuites = ["TLS_CHACHA20_POLY1305_SHA256"] }.dial(new.request())
    #expect(suite.facts.tls?.cipher == "TLS_CHACHA20_POLY1305_SHA256")
    for edit: (inout TLSOptions) -> Void in [
      { $0.legacyCiphers = ["NONE-SUCH"] }, { $0.cipherSuites = [] }, { $0.roots = .pem([]) },
      { $0.keyLogFile = "/nonexistent/keys" }, { $0.maximumVersion = .v1_1 },
    ] {
      #expect(
        try await transportError { try await lab.dialer(edit).dial(new.request()) }.code == .invalidTLSConfiguration)
    }
    #expect(
      try await transportError { try await lab.dialer { $0.requiresStapledStatus = true }.dial(new.request()) }.code
        == .unsupported)
    for name in ["", String(repeating: "x", count: 256)] {
      #expect(
        try await transportError {
          try await lab.dialer().dial(new.request(tls: .init(applicationProtocols: [name])))
        }.code == .invalidOption)
    }
  }

  @Test("Strict checks are enforced")
  func strictness() async throws {
    let server = try lab.echo()
    let lenient = try await lab.dialer().dial(server.request())
    #expect(lenient.facts.trust == .validated)
    // The authority's certificates satisfy the strict checks.
    _ = try await lab.dialer { $0.requiresStrictChain = true }.dial(server.request())
  }

  @Test("The secrets of a connection are logged if the configuration asks for it")
  func keyLog() async throws {
    let path = "/tmp/lastro-nest-\(UInt64.random(in: 0 ... .max)).keys"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let server = try lab.echo()
    try await lab.dialer { $0.keyLogFile = path }.dial(server.request()).expectEcho()
    let isLogged = try await eventually {
      String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self).contains("CLIENT_TRAFFIC_SECRET_0 ")
    }
    #expect(isLogged)
  }

  @Test(
    "An unfinished handshake fails",
    arguments: [
      LoopbackTLS.HandshakeFault.resetInHandshake, .closeInHandshake, .plaintextInsteadOfTLS, .stallInHandshake,
    ])
  func faults(fault: LoopbackTLS.HandshakeFault) async throws {
    let server = try lab.echo { $0.handshakeFault = fault }
    let limit: Duration = fault == .stallInHandshake ? .milliseconds(50) : .seconds(600)
    let error = try await transportError { try await lab.dialer().dial(server.request(within: limit)) }
    #expect(!error.requestSent)
    switch fault {
    case .stallInHandshake: #expect(error.code == .connectTimeout)
    case .closeInHandshake, .plaintextInsteadOfTLS: #expect(error.code == .handshakeFailed)
    case .resetInHandshake: #expect(error.stage != .request)
    }
  }

  @Test("Cancelling ends a handshake")
  func cancellation() async throws {
    let server = try lab.echo { $0.handshakeFault = .stallInHandshake }
    let dialer = lab.dialer()
    let task = Task { try await dialer.dial(server.request(within: nil)) }
    try await server.waitForConnections(count: 1)
    task.cancel()
    #expect(try await transportError { try await task.value }.code == .cancelled)
  }
}
