// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Glibc
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import TestSupport
import Testing

/// TLS beyond pins: roots, client certificates, ciphers, stapled status, the key log.
@Suite("Trust: TLS options", .timeLimit(.minutes(15)))
struct TLSOptionsTests {
  private let lab: TestAuthority

  init() throws { lab = try TestAuthority() }

  private func server(closes: Bool = false, _ adapt: (inout LoopbackTLS) -> Void = { _ in }) throws -> LoopbackServer {
    var tls = LoopbackTLS(try lab.identity("localhost", "other.test"))
    adapt(&tls)
    return try .http(tls: tls) { _ in
      closes ? LoopbackResponse.text("answer").adding("Connection", "close") : .text("answer")
    }
  }

  @Test("Roots may be a directory, whatever its files are called")
  func directory() async throws {
    let server = try server()
    let directory = try PeerDirectory()
    let options = RequestOptions.connection { $0.tls.roots = .directory(directory.path) }
    let early = try await failure { try await CurlNetworkStack.direct().send(.get, server.baseURL, options: options) }
    #expect(early.words == "tls/invalid_tls_configuration")
    try directory.write("no certificate", to: "README")
    try directory.write(CertificateAuthority().rootPEM, to: "another")
    try directory.write(lab.authority.rootPEM, to: "mine.anything")
    let next = try CurlNetworkStack.direct { $0.connection.tls.roots = .directory(directory.path) }
    #expect(try await next.send(.get, server.baseURL).text == "answer")
  }

  @Test("Roots that are not a regular file are refused and hold nothing up")
  func noFile() async throws {
    let directory = try PeerDirectory()
    let pipe = directory.file("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    for path in [pipe, directory.path, "/dev/zero"] {
      let options = RequestOptions.connection { $0.tls.roots = .file(path) }
      let error = try await failure {
        try await CurlNetworkStack.direct().send(.get, "https://localhost:1", options: options)
      }
      #expect(error.words == "tls/invalid_tls_configuration", "\(path)")
      let keyLog = try lab.stack(nil) { $0.connection.tls.keyLogFile = path == "/dev/zero" ? directory.path : path }
      let refused = try await failure { try await keyLog.send(.get, "https://localhost:1") }
      #expect(refused.words == "tls/invalid_tls_configuration", "\(path)")
    }
  }

  @Test("A replaced file of roots takes effect, also for open connections")
  func replacedRoots() async throws {
    let server = try server()
    let directory = try PeerDirectory()
    let file = try directory.write(lab.authority.rootPEM, to: "ca.pem")
    let stack = try CurlNetworkStack.direct { $0.connection.tls.roots = .file(file) }
    #expect(try await stack.send(.get, server.baseURL).text == "answer")

    try directory.write("broken", to: "ca.pem")
    try await lookAgain()
    #expect(
      try await stack.send(.get, server.baseURL).text == "answer", "unreadable roots keep the previous ones in use")

    try directory.write(CertificateAuthority().rootPEM, to: "ca.pem")
    try await lookAgain()
    #expect(try await failure { try await stack.send(.get, server.baseURL) }.words == "tls/untrusted_certificate")

    try directory.write(lab.authority.rootPEM, to: "ca.pem")
    try await lookAgain()
    #expect(try await stack.send(.get, server.baseURL).text == "answer")
    #expect(server.requests.count == 3 && server.resumedHandshakes == 0)
  }

  /// Waits until files are checked again; that happens once a second at most.
  private func lookAgain() async throws { try await Task.sleep(for: .milliseconds(1_100)) }

  @Test("Client certificates are presented to the host they are for, from memory and from files")
  func hostIdentities() async throws {
    let client = try lab.authority.issue(hosts: [], commonName: "client")
    let server = try server {
      $0.clientAuthoritiesPEM = lab.authority.rootPEM
      // In TLS 1.3 the refusal arrives after the handshake, and the connection may have been reset by then.
      $0.maximumVersion = .v1_2
    }
    let directory = try PeerDirectory()
    let inMemory = TLSOptions.Identity(
      certificate: .bytes(Array(client.chainPEM.utf8)), key: .bytes(Array(client.privateKeyPEM.utf8)))
    let inFiles = TLSOptions.Identity(
      certificate: .file(try directory.write(client.chainPEM, to: "client.pem")),
      key: .file(try directory.write(client.privateKeyPEM, to: "client.key")))
    for identity in [inMemory, inFiles] {
      let stack = try lab.stack(nil, names: ["other.test": server.port]) {
        $0.connection.tls.hostIdentities = ["LOCALHOST.": identity]
      }
      #expect(try await stack.send(.get, server.baseURL).text == "answer")
      #expect(try await failure { try await stack.send(.get, server.url("other.test")) }.stage == .tls)
    }
    #expect(server.requests.count == 2)
  }

  @Test("Invalid host names, and equivalent names, are refused")
  func badHostIdentities() async throws {
    let identity = TLSOptions.Identity(certificate: .file("/nonexistent"))
    for names in [["": identity], ["a b": identity], ["host.test": identity, "HOST.test.": identity]] {
      let stack = try lab.stack(nil) { $0.connection.tls.hostIdentities = names }
      let error = try await failure { try await stack.send(.get, "https://localhost:1") }
      #expect(error.words == "tls/invalid_tls_configuration" && error.hint != nil)
    }
  }

  @Test("A maximum version is enforced, and one below the minimum is refused before anything is sent")
  func maximumVersion() async throws {
    let stack = try lab.stack(nil) { $0.connection.tls.maximumVersion = .v1_2 }
    let old = try server { $0.maximumVersion = .v1_2 }
    #expect(try await stack.send(.get, old.baseURL).text == "answer")
    let both = try LoopbackServer(tls: LoopbackTLS(try lab.identity("localhost"))) { connection in
      _ = try connection.readHead()
      let version = connection.tlsVersion ?? "-"
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(version.utf8.count)\r\n\r\n\(version)")
    }
    #expect(try await stack.send(.get, both.baseURL).text == "TLSv1.2")
    let new = try server { $0.minimumVersion = .v1_3 }
    #expect(try await failure { try await stack.send(.get, new.baseURL) }.words == "tls/handshake_failed")
    #expect(new.requests.isEmpty)
    let newest = try lab.stack(nil) { $0.connection.tls.maximumVersion = .v1_3 }
    #expect(try await newest.send(.get, new.baseURL).text == "answer")
    let empty = try lab.stack(nil) {
      $0.connection.tls.minimumVersion = .v1_3
      $0.connection.tls.maximumVersion = .v1_2
    }
    let error = try await failure { try await empty.send(.get, both.baseURL) }
    #expect(error.words == "tls/invalid_tls_configuration")
    #expect(error.message.contains("the maximum TLS version, 1.2, is below the minimum, 1.3"))
  }

  @Test("The configured ciphers are offered; unknown names are refused")
  func ciphers() async throws {
    let old = try server { $0.maximumVersion = .v1_2 }
    let stack = try lab.stack(nil) { $0.connection.tls.legacyCiphers = ["ECDHE-ECDSA-AES256-GCM-SHA384"] }
    #expect(try await stack.send(.get, old.baseURL).text == "answer")
    // The suite requires an RSA key.
    let unsuitable = try lab.stack(nil) { $0.connection.tls.legacyCiphers = ["ECDHE-RSA-AES256-GCM-SHA384"] }
    #expect(try await failure { try await unsuitable.send(.get, old.baseURL) }.words == "tls/handshake_failed")
    let suites = try lab.stack(nil) { $0.connection.tls.cipherSuites = ["TLS_CHACHA20_POLY1305_SHA256"] }
    let new = try server()
    #expect(try await suites.send(.get, new.baseURL).text == "answer")
    for (legacy, modern) in [
      (["ECDHE-ECDSA-AES256-GCM-SHA385"], nil), (nil, ["TLS_AES_128_GCM_SHA257"]), ([], nil), (nil, []), ([""], nil),
      (["A:B"], nil), (["ALL@SECLEVEL=0"], nil), (["AES"], nil), (["@SECLEVEL=0"], nil),
      (["TLS_AES_128_GCM_SHA256"], nil), (nil, ["ECDHE-ECDSA-AES256-GCM-SHA384"]),
    ] as [([String]?, [String]?)] {
      let stack = try lab.stack(nil) {
        $0.connection.tls.legacyCiphers = legacy
        $0.connection.tls.cipherSuites = modern
      }
      let error = try await failure { try await stack.send(.get, "https://localhost:1") }
      #expect(error.words == "tls/invalid_tls_configuration", "\(legacy ?? []) \(modern ?? [])")
    }
  }

  @Test("OCSP stapling is required where configured, on every connection")
  func stapledStatus() async throws {
    // libcurl looks for the issuer among the certificates that the server sends.
    let issuer = try lab.authority.intermediate()
    let leaf = try issuer.issue(hosts: ["localhost"])
    let cases: [(LoopbackServer, String?)] = [
      (try server { $0.identity = leaf }, "tls/certificate_status_invalid"),
      (try stapling(issuer.ocspResponse(for: leaf), leaf), nil),
      (try stapling(issuer.ocspResponse(for: leaf, status: .revoked), leaf), "tls/certificate_status_invalid"),
      (try stapling(issuer.ocspResponse(for: leaf, status: .unknown), leaf), "tls/certificate_status_invalid"),
      (try stapling(issuer.ocspResponse(for: leaf, days: -366 ... -1), leaf), "tls/certificate_status_invalid"),
      (
        try stapling(issuer.ocspResponse(for: leaf, status: .good, signedBy: CertificateAuthority()), leaf),
        "tls/certificate_status_invalid"
      ),
    ]
    for (server, words) in cases {
      #expect(try await lab.stack(nil).send(.get, server.baseURL).text == "answer")
      let stack = try lab.stack(nil) { $0.connection.tls.requiresStapledStatus = true }
      guard let words else {
        for _ in 0..<3 { #expect(try await stack.send(.get, server.baseURL).text == "answer") }
        #expect(server.resumedHandshakes == 0 && server.fullHandshakes == 4)
        continue
      }
      let error = try await failure { try await stack.send(.get, server.baseURL) }
      #expect(error.words == words && error.hint != nil)
      #expect(server.requests.count == 1)
    }
  }

  private func stapling(_ response: [UInt8], _ leaf: MintedCertificate) throws -> LoopbackServer {
    try server(closes: true) {
      $0.identity = leaf
      $0.ocspResponse = response
    }
  }

  @Test("The key log has a line for each secret if configured, and a path that cannot be written is refused")
  func keyLog() async throws {
    let server = try server()
    let directory = try PeerDirectory()
    let path = directory.file("keys")
    let stack = try lab.stack(nil) { $0.connection.tls.keyLogFile = path }
    _ = try await stack.send(.get, server.baseURL)
    await stack.shutDown()
    let lines = directory.text(of: "keys").split(separator: "\n")
    #expect(lines.contains { $0.hasPrefix("CLIENT_TRAFFIC_SECRET_0 ") } && lines.count >= 4)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    let refused = try lab.stack(nil) { $0.connection.tls.keyLogFile = "/nonexistent/keys" }
    let error = try await failure { try await refused.send(.get, server.baseURL) }
    #expect(error.words == "tls/invalid_tls_configuration")
  }

  @Test("A certificate must have the name among its subject alternative names")
  func commonNameAlone() async throws {
    let bare = try lab.authority.issue(hosts: [], commonName: "localhost")
    let server = try server { $0.identity = bare }
    let stack = try lab.stack(nil)
    #expect(try await failure { try await stack.send(.get, server.baseURL) }.words == "tls/host_mismatch")
    #expect(server.receivedBytes == 0)
  }

  @Test("Pins do not excuse a certificate for another host or out of its validity period")
  func toldApart() async throws {
    let cases: [(MintedCertificate, String)] = [
      (try lab.identity("elsewhere.test"), "tls/host_mismatch"),
      (try lab.authority.issue(hosts: ["localhost"], days: -366 ... -1), "tls/certificate_expired"),
      (try lab.authority.issue(hosts: ["localhost"], days: 1...366), "tls/certificate_expired"),
      (try CertificateAuthority().issue(hosts: ["localhost"]), "tls/untrusted_certificate"),
      (try CertificateMint.selfSigned(hosts: ["localhost"]), "tls/untrusted_certificate"),
    ]
    for (identity, words) in cases {
      let server = try server { $0.identity = identity }
      // Whether pinned or not: a pin cannot accept a chain that validation refuses, and no judge is asked.
      for pin in [TestAuthority.absentPin, try TestAuthority.pin(identity)] {
        let judge = ScriptedJudge { _, _ in .success(.pinned) }
        for judge in [try TestAuthority.evaluator(TestAuthority.policy("localhost", pin)), judge]
          as [any ServerTrustJudge]
        {
          let error = try await failure { try await lab.stack(judge).send(.get, server.baseURL) }
          #expect(error.words == words)
          #expect(error.trustFailure == nil)
        }
        #expect(judge.asked.isEmpty)
      }
      #expect(server.receivedBytes == 0)
    }
  }

  @Test("Plain http to a pinned host is refused, also on a redirect; to other hosts it is allowed")
  func plaintext() async throws {
    let plain = try LoopbackServer.http { _ in .text("answer") }
    let stack = try lab.stack(
      TestAuthority.evaluator(TestAuthority.policy("pinned.test", TestAuthority.absentPin, subdomains: true)),
      names: ["pinned.test": plain.port, "a.pinned.test": plain.port])
    for host in ["pinned.test", "a.pinned.test"] {
      let error = try await failure { try await stack.send(.get, "http://\(host):\(plain.port)/") }
      #expect(error.words == "trust/plaintext_refused" && error.attempts.map(\.requestSent) == [false])
    }
    #expect(plain.receivedBytes == 0)
    #expect(try await stack.send(.get, plain.baseURL).response.facts.trust == .plain)
    let location = "http://pinned.test:\(plain.port)/"
    let server = try LoopbackServer.http { _ in LoopbackResponse(status: 302, headers: ["Location": location]) }
    #expect(try await failure { try await stack.send(.get, server.baseURL) }.words == "trust/plaintext_refused")
    #expect(plain.requests.count == 1)
  }

  @Test("An inspection reports the verified chain and sends nothing; a chain that a judge refuses is included")
  func inspection() async throws {
    let below = try lab.authority.intermediate()
    let identity = try below.issue(hosts: ["localhost"])
    let server = try server { $0.identity = identity }
    let stack = try lab.stack(nil) { $0.connection.httpVersion = .http1 }
    let trust = try await stack.inspect(server.baseURL)
    _ = try await stack.send(.get, server.baseURL, headers: ["Connection": "close"])
    // The inspection uses neither an open connection nor a stored session.
    for _ in 0..<2 { #expect(try await stack.inspect(server.baseURL) == trust) }
    let received = server.receivedBytes
    #expect(trust.host.text == "localhost" && trust.port == server.port && trust.chain.count == 3)
    #expect(try trust.chain.last?.pin == SPKIHash(pem: lab.authority.rootPEM))
    let refusing = try lab.stack(TestAuthority.evaluator(TestAuthority.policy("localhost", TestAuthority.absentPin)))
    do {
      _ = try await refusing.inspect(server.baseURL)
      Issue.record("the call must be refused")
    } catch {
      #expect(error.stage == .trust && error.trustFailure?.trust.chain == trust.chain)
    }
    for (url, words) in [
      ("http://localhost:1", "request/unsupported_scheme"), ("localhost", "request/invalid_url"),
      ("https://elsewhere.test:\(server.port)", "tls/host_mismatch"),
    ] {
      let stack = try lab.stack(nil, names: ["elsewhere.test": server.port])
      let error = await #expect(throws: TransportError.self) { try await stack.inspect(url) }
      #expect(error?.words == words)
    }
    #expect(server.receivedBytes == received)
  }
}
