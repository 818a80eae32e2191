// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// The cases that Alicerce tests with a trust object, over real handshakes, and chains with each kind of key and fault.
@Suite("Trust: handshakes", .ownThread, .timeLimit(.minutes(15)))
struct HandshakeTrustTests {
  private static let domain = "alicerce.test"

  private let root: CertificateAuthority
  private let below: CertificateAuthority

  init() throws {
    root = try CertificateAuthority(keyType: .p521)
    below = try root.intermediate(keyType: .p384)
  }

  private func stack(_ judge: (any ServerTrustJudge)?, _ port: Int) throws -> CurlNetworkStack {
    let roots = Array(root.rootPEM.utf8)
    return try .direct {
      $0.connection.tls.roots = .pem(roots)
      $0.connection.tls.trustJudge = judge
      $0.connection.resolutions = [Self.domain, "sub.\(Self.domain)"].map {
        .init(host: $0, port: port, addresses: ["127.0.0.1"])
      }
    }
  }

  private func server(_ identity: MintedCertificate) throws -> LoopbackServer {
    try .http(tls: LoopbackTLS(identity)) { _ in .text("answer") }
  }

  private func policy(_ pins: [SPKIHash], expiration: PinningPolicy.Expiration = .never) throws -> PinningPolicy {
    try PinningPolicy(
      Self.domain, includeSubdomains: true, expiration: expiration,
      pins: Set(pins.map(\.description) + [TestAuthority.sparePin]))
  }

  private func evaluator(_ policy: PinningPolicy, allowsOthers: Bool = false) throws -> ServerTrustEvaluator {
    ServerTrustEvaluator(
      configuration: try .init(pinningPolicies: [policy], allowNotPinnedDomains: allowsOthers))
  }

  private func leaf() throws -> MintedCertificate {
    try below.issue(hosts: [Self.domain, "*.\(Self.domain)"])
  }

  private func words(_ server: LoopbackServer, _ host: String, _ judge: (any ServerTrustJudge)?) async throws -> String
  {
    let stack = try stack(judge, server.port)
    let url = server.url(host)
    let error: RawFailure
    do throws(RawFailure) {
      let answer = try await stack.send(.get, url)
      return answer.response.facts.trust?.rawValue ?? "nothing"
    } catch let caught {
      error = caught
    }
    #expect(server.receivedBytes == 0, "a refused server received bytes")
    return error.words
  }

  @Test("A pinned key of a valid chain is accepted", .parity("TE22"), arguments: [domain, "sub.\(domain)"])
  func accepted(_ host: String) async throws {
    let leaf = try leaf()
    let server = try server(leaf)
    for pin in [try leaf.pin, try below.identity.pin, try root.identity.pin] {
      #expect(try await words(server, host, evaluator(policy([pin]))) == "pinned")
    }
  }

  @Test("A chain without a pinned key is refused", .parity("TE27"), arguments: [domain, "sub.\(domain)"])
  func refused(_ host: String) async throws {
    let other = try CertificateMint.selfSigned(hosts: [host])
    #expect(try await words(server(leaf()), host, evaluator(policy([other.pin]))) == "trust/pin_mismatch")
  }

  @Test(
    "A self-signed leaf is refused although its key is pinned: validation comes before pins", .parity("TE09", "TE19"),
    arguments: [domain, "sub.\(domain)"])
  func invalidChain(_ host: String) async throws {
    let alone = try CertificateMint.selfSigned(hosts: [host])
    let judge = try evaluator(policy([alone.pin, root.identity.pin]))
    #expect(try await words(server(alone), host, judge) == "tls/untrusted_certificate")
    #expect(judge.statistics.policies.isEmpty)
  }

  @Test(
    "A certificate that is sent outside of the verified chain satisfies no pin", .parity("TE10", "TE20"),
    arguments: [domain, "sub.\(domain)"])
  func unrelatedCertificate(_ host: String) async throws {
    let unrelated = try CertificateAuthority(commonName: "Unrelated")
    let server = try server(leaf().adding(unrelated.identity))
    let stack = try stack(evaluator(policy([unrelated.identity.pin])), server.port)
    let error = try await failure { try await stack.send(.get, server.url(host)) }
    #expect(error.words == "trust/pin_mismatch" && server.receivedBytes == 0)
    let trust = try #require(error.trustFailure?.trust)
    #expect(try trust.otherCertificates.map(\.pin) == [unrelated.identity.pin])
    #expect(trust.chain.count == 3)
  }

  @Test("A server without TLS is not evaluated", .parity("TE23"))
  func withoutTLS() async throws {
    let plain = try LoopbackServer.http { _ in .text("answer") }
    let stack = try stack(evaluator(policy([root.identity.pin]), allowsOthers: true), plain.port)
    #expect(try await stack.send(.get, plain.baseURL).response.facts.trust == .plain)
  }

  @Test(
    "An expired policy accepts or refuses a server, as configured", .parity("TE24", "TE28"),
    arguments: [domain, "sub.\(domain)"])
  func expiredPolicy(_ host: String) async throws {
    let server = try server(leaf())
    let past = Date(timeIntervalSince1970: 1_600_000_000)
    let pins = [try root.identity.pin]
    #expect(
      try await words(server, host, evaluator(policy(pins, expiration: .refuse(after: past)))) == "trust/policy_expired"
    )
    #expect(
      try await words(server, host, evaluator(policy(pins, expiration: .fallBack(after: past)))) == "policy_expired")
  }

  @Test("A host without a policy is allowed or refused, as configured", .parity("TE25", "TE29"))
  func withoutPolicy() async throws {
    let server = try server(below.issue(hosts: ["localhost"]))
    let policy = try policy([root.identity.pin])
    #expect(try await words(server, "localhost", evaluator(policy)) == "trust/host_not_pinned")
    #expect(try await words(server, "localhost", evaluator(policy, allowsOthers: true)) == "validated")
  }

  @Test("report-only accepts the connection and reports what would have been refused")
  func reportOnly() async throws {
    let server = try server(leaf())
    let other = try CertificateMint.selfSigned(hosts: [Self.domain])
    let policy = try PinningPolicy(
      Self.domain, pins: ["\(other.pin)", TestAuthority.sparePin], mode: .reportOnly)
    let reports = AsyncStream.makeStream(of: TrustReport.self)
    let judge = ServerTrustEvaluator(
      configuration: try .init(pinningPolicies: [policy]), onReport: { reports.continuation.yield($0) })
    #expect(try await words(server, Self.domain, judge) == "reported")
    #expect(try await words(server, Self.domain, judge) == "reported")
    var iterator = reports.stream.makeAsyncIterator()
    let report = try #require(await iterator.next())
    #expect(report.failure.trust.chain.count == 3 && report.failure.trust.port == server.port)
    let counts = try #require(judge.statistics.policies[HostName(Self.domain)])
    #expect(counts.wouldHaveBlocked == 2 && counts.blocked == 0)
  }

  @Test("Pins match keys of every type, at every position of the chain", arguments: CertificateKeyType.allCases)
  func keyTypes(_ type: CertificateKeyType) async throws {
    let root = try CertificateAuthority(keyType: type)
    let below = try root.intermediate(keyType: type)
    let leaf = try below.issue(hosts: ["localhost"], keyType: type)
    let server = try server(leaf)
    let stack = try CurlNetworkStack.direct { $0.connection.tls.roots = .pem(Array(root.rootPEM.utf8)) }
    let chain = try await stack.inspect(server.baseURL).chain
    #expect(try chain.map(\.pin) == [leaf.pin, below.identity.pin, root.identity.pin])
    for pin in chain.map(\.pin.description) {
      let judge = try TestAuthority.evaluator(TestAuthority.policy("localhost", pin))
      let options = RequestOptions.connection {
        $0.tls.roots = .pem(Array(root.rootPEM.utf8))
        $0.tls.trustJudge = judge
      }
      #expect(try await stack.send(.get, server.baseURL, options: options).response.facts.trust == .pinned)
    }
  }

  @Test("With a cross-signed authority only the pins of the verified chain count")
  func crossSigned() async throws {
    let old = try CertificateAuthority(commonName: "Old root")
    let new = try CertificateAuthority(commonName: "New root")
    let cross = try new.crossSigned(by: old)
    let leaf = try new.issue(hosts: ["localhost"]).adding(cross)
    let server = try server(leaf)
    for (roots, last) in [(old.rootPEM, try old.identity.pin), (new.rootPEM, try new.identity.pin)] {
      let stack = try CurlNetworkStack.direct { $0.connection.tls.roots = .pem(Array(roots.utf8)) }
      #expect(try await stack.inspect(server.baseURL).chain.last?.pin == last)
      let judge = try TestAuthority.evaluator(TestAuthority.policy("localhost", "\(old.identity.pin)"))
      let pinned = try CurlNetworkStack.direct {
        $0.connection.tls.roots = .pem(Array(roots.utf8))
        $0.connection.tls.trustJudge = judge
      }
      let isAccepted = (try? await pinned.send(.get, server.baseURL)) != nil
      #expect(isAccepted == (roots == old.rootPEM))
    }
  }

  @Test("Invalid chains are refused by validation, whatever is pinned")
  func faultyChains() async throws {
    let short = try root.intermediate(commonName: "Short", pathLength: 0)
    let constrained = try root.intermediate(
      commonName: "Constrained", nameConstraints: CertificateNameConstraints(permitted: ["elsewhere.test"]))
    let cases: [(String, MintedCertificate)] = [
      ("a missing intermediate", try below.issue(hosts: [Self.domain]).withoutIntermediates),
      ("path length", try short.intermediate(commonName: "Too deep").issue(hosts: [Self.domain])),
      ("name constraints", try constrained.issue(hosts: [Self.domain])),
      ("an untrusted root", try CertificateAuthority().issue(hosts: [Self.domain])),
    ]
    for (name, identity) in cases {
      let judge = try evaluator(policy([identity.pin, root.identity.pin, below.identity.pin]))
      #expect(
        try await words(server(identity), Self.domain, judge) == "tls/untrusted_certificate", "\(name)")
      #expect(judge.statistics.policies.isEmpty, "\(name)")
    }
  }
}
