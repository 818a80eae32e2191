// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroCurl
import LastroGemini
import LastroStreamsTesting
import LastroTesting
import TestSupport
import Testing

@Suite("Gemini over the engine", .timeLimit(.minutes(15)))
struct GeminiLoopbackTests {
  static func certificate(_ hosts: [String] = ["localhost"]) throws -> MintedCertificate {
    try CertificateMint.selfSigned(hosts: hosts)
  }

  static func client(
    _ store: GeminiMemoryKnownHosts = .init(), onMismatch: GeminiTrust.ChangeHandler? = nil,
    change: (inout GeminiConfiguration) -> Void = { _ in }
  ) -> GeminiClient {
    var configuration = GeminiConfiguration()
    configuration.trust = .firstUse(storing: store, onMismatch: onMismatch)
    configuration.connectTimeout = .seconds(60)
    configuration.headerTimeout = .seconds(60)
    configuration.idleTimeout = .seconds(60)
    change(&configuration)
    return GeminiClient(dialer: CurlNetworkStack.sharedDialer, configuration: configuration)
  }

  static func changed(_ change: (inout GeminiConfiguration) -> Void) -> GeminiClient { client(change: change) }

  @Test("A document is returned in one piece and byte by byte", arguments: [Int.max, 1])
  func document(pieceBytes: Int) async throws {
    let body = Array((0..<2000).map { UInt8(truncatingIfNeeded: $0) })
    let server = try LoopbackGeminiServer(identity: Self.certificate()) { _ in
      LoopbackGeminiAnswer(Array("20 x/y\r\n".utf8) + body, pieceBytes: pieceBytes)
    }
    let response = try await Self.client().fetch(server.url("/a b?c")).collected()
    #expect(response.data == Data(body) && response.facts.trust == .firstUse)
    #expect(response.facts.tls?.version.hasPrefix("TLSv1.") == true)
    #expect(server.requests == ["gemini://localhost:\(server.port)/a%20b?c"])
  }

  @Test("A large body streams with back-pressure")
  func large() async throws {
    let body = [UInt8](repeating: 7, count: 8 << 20)
    let server = try LoopbackGeminiServer(identity: Self.certificate()) { _ in .success(body, type: "x/y") }
    let response = try await Self.client().fetch(server.url())
    var count = 0
    for try await piece in response.body {
      #expect(piece.count <= 65_536)
      count += piece.count
    }
    #expect(count == body.count)
  }

  @Test("A changed key stops the request before anything is sent, and a decision replaces the key")
  func changedKey() async throws {
    let old = try Self.certificate(), new = try Self.certificate()
    let server = try LoopbackGeminiServer(identity: old) { _ in .success("hello") }
    let store = GeminiMemoryKnownHosts()
    #expect(try await Self.client(store).fetch(server.url()).collected().text == "hello")
    #expect(try await Self.client(store).fetch(server.url()).collected().facts.trust == .knownHost)
    try server.show(new)
    let error = await #expect(throws: GeminiError.self) { try await Self.client(store).fetch(server.url()) }
    #expect(error?.stage == .trust && error?.code == .certificateChanged)
    let change = try #require(error?.certificateChange)
    #expect(try change.known.pin == old.pin)
    #expect(try change.presented.pin == new.pin)
    #expect(try error?.cause?.trustFailure?.trust.chain.first?.pin == new.pin)
    #expect(server.requests.count == 2)
    let once = try await Self.client(store, onMismatch: { _ in .acceptOnce }).fetch(server.url())
    #expect(once.facts.trust == .changedHost)
    #expect(try store.all.values.map(\.pin) == [old.pin])
    _ = try await Self.client(store, onMismatch: { _ in .replace }).fetch(server.url())
    #expect(try store.all.values.map(\.pin) == [new.pin])
    #expect(try await Self.client(store).fetch(server.url()).facts.trust == .knownHost)
  }

  @Test("Expired certificates, and those for another name, are refused and not remembered")
  func badCertificates() async throws {
    let store = GeminiMemoryKnownHosts()
    for (certificate, code, words) in [
      (
        try Self.certificate(["other.example", "*.other.example"]), FailureCode.hostMismatch,
        "is for other names: other.example, *.other.example ("
      ),
      (
        try CertificateMint.selfSigned(hosts: ["localhost"], validity: .expired), .certificateExpired,
        "is valid from 20"
      ),
    ] {
      let server = try LoopbackGeminiServer(identity: certificate) { _ in .success("hello") }
      let error = await #expect(throws: GeminiError.self) { try await Self.client(store).fetch(server.url()) }
      #expect(error?.stage == .trust && error?.code == code && server.requests.isEmpty)
      #expect("\(try #require(error))".contains(words))
    }
    #expect(store.all.isEmpty)
  }

  @Test("With authorities a capsule is accepted by its SPIFFE ID; trust on first use cannot prove one")
  func workload() async throws {
    let authority = try CertificateAuthority()
    let identity = try authority.svid("spiffe://example.org/capsule")
    let server = try LoopbackGeminiServer(identity: identity) { _ in .success("hello") }
    func client(_ id: String, _ trust: GeminiTrust?) -> GeminiClient {
      Self.changed {
        if let trust { $0.trust = trust }
        $0.connection.tls.roots = .pem(Array(authority.rootPEM.utf8))
        $0.connection.tls.peer = .ids(id)
      }
    }
    let right = client("spiffe://example.org/capsule", .authorities)
    #expect(try await right.fetch(server.url()).collected().facts.trust == .spiffe)
    let wrong = client("spiffe://example.org/other", .authorities)
    let error = await #expect(throws: GeminiError.self) { try await wrong.fetch(server.url()) }
    #expect(error?.stage == .trust && error?.code == .spiffeIDMismatch)
    let first = client("spiffe://example.org/capsule", nil)
    let refused = await #expect(throws: GeminiError.self) { try await first.fetch(server.url()) }
    #expect(refused?.stage == .request && refused?.code == .unsupported)
    #expect(server.requests.count == 1)
  }

  @Test("With authorities as for https a self-signed certificate is refused, and one issued by the root is accepted")
  func authorities() async throws {
    let authority = try CertificateAuthority()
    let selfSigned = try LoopbackGeminiServer(identity: Self.certificate()) { _ in .success("hello") }
    let issued = try LoopbackGeminiServer(identity: authority.issue(hosts: ["localhost"])) { _ in .success("hello") }
    let client = Self.changed {
      $0.trust = .authorities
      $0.connection.tls.roots = .pem(Array(authority.rootPEM.utf8))
    }
    let error = await #expect(throws: GeminiError.self) { try await client.fetch(selfSigned.url()) }
    #expect(error?.stage == .tls && error?.code == .untrustedCertificate && selfSigned.requests.isEmpty)
    #expect(try await client.fetch(issued.url()).collected().text == "hello")
  }

  static let faultyAnswers: [(LoopbackGeminiAnswer, FailureStage, FailureCode)] = [
    (LoopbackGeminiAnswer("20 x/y\r\nhalf", end: .truncate), .response, .truncatedBody),
    (LoopbackGeminiAnswer("20 x", end: .truncate), .response, .truncatedStream),
    (LoopbackGeminiAnswer("20 x"), .response, .connectionLost),
    (LoopbackGeminiAnswer("20 x\n"), .response, .malformedResponse),
    (LoopbackGeminiAnswer("77 x\r\n").byteByByte, .response, .malformedResponse),
    (LoopbackGeminiAnswer("20 " + String(repeating: "x", count: 2000)), .response, .headTooLarge),
    (LoopbackGeminiAnswer("30 /x\r\nbody"), .redirect, .tooManyRedirects),
  ]

  @Test("Faults of servers are typed errors", arguments: faultyAnswers.indices)
  func faults(index: Int) async throws {
    let (answer, stage, code) = Self.faultyAnswers[index]
    let server = try LoopbackGeminiServer(identity: Self.certificate()) { _ in answer }
    let client = Self.changed { $0.maximumRedirects = 1 }
    let error = await #expect(throws: GeminiError.self) { try await client.fetch(server.url()).collected() }
    #expect(error?.stage == stage && error?.code == code, "\(String(describing: error))")
  }

  @Test("A silent server ends at the limit for the header")
  func silence() async throws {
    let server = try LoopbackGeminiServer(identity: Self.certificate()) { _ in .silence }
    let client = Self.changed { $0.headerTimeout = .milliseconds(50) }
    let error = await #expect(throws: GeminiError.self) { try await client.fetch(server.url()) }
    #expect(error?.stage == .timeout && error?.code == .headerTimeout)
  }

  @Test("A reset is an error")
  func reset() async throws {
    let server = try LoopbackGeminiServer(identity: Self.certificate()) { _ in LoopbackGeminiAnswer("20", end: .reset) }
    let error = await #expect(throws: GeminiError.self) { try await Self.client().fetch(server.url()).collected() }
    #expect(error?.stage == .response)
  }

  @Test("A client certificate is presented within its scope")
  func clientCertificate() async throws {
    let mine = try Self.certificate(["me"])
    let files = try CertificateFiles(mine)
    let server = try LoopbackGeminiServer(
      identity: Self.certificate(), clientAuthoritiesPEM: mine.certificatePEM
    ) { _ in .success("hello") }
    let identities = GeminiIdentities()
    identities.add(
      .init(certificate: .file(files.chain), key: .file(files.privateKey)), for: try GeminiURL(server.url("/app")))
    let client = Self.changed { $0.identities = identities }
    #expect(try await client.fetch(server.url("/app/x")).collected().text == "hello")
    #expect(server.clients == ["me"])
    await #expect(throws: GeminiError.self) { try await client.fetch(server.url("/other")).collected() }
    #expect(server.requests.count == 1)
  }

  @Test("Many concurrent requests to the same hosts agree on the remembered key")
  func concurrent() async throws {
    let server = try LoopbackGeminiServer(identity: Self.certificate()) { .success($0) }
    let store = GeminiMemoryKnownHosts()
    let client = Self.client(store)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<40 {
        group.addTask {
          let url = server.url("/\(index)")
          let text = try await client.fetch(url).collected().text
          #expect(text == url)
        }
      }
      try await group.waitForAll()
    }
    #expect(store.all.count == 1 && server.requests.count == 40)
  }
}
