// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import TestSupport
import Testing

/// The chains of x509-limbo, each over a connection of its own. ``LimboDifferences`` lists the cases that we judge
/// differently, each with its reason. The list is exact: a change on either side fails.
@Suite("Conformance: x509-limbo", .overEachLink, .timeLimit(.minutes(15)))
struct LimboTests {
  @Test("The expected number of cases can be served over TLS")
  func selection() throws {
    let all = try LimboCase.all()
    #expect(all.count == 208)
    let servers = all.filter { $0.kind == .server }
    #expect(servers.count == 198)
    #expect(servers.count { $0.privateKey == nil } == 19)
    // Ten more cases depend on a clock or on revocation lists, and one names no host.
    #expect(servers.count { $0.isServable } == 168)
    #expect(servers.count { $0.isServable && $0.expectation == .success } == 39)
  }

  @Test("Each chain has the expected verdict, except for the listed differences")
  func standard() async throws {
    let outcomes = try await outcomes()
    expect(outcomes, differingBy: LimboDifferences.standard)
    // Server and client share no cipher for these cases, so no chain is sent.
    let early = outcomes.filter { $0.value.outcome == .refused("tls/handshake_failed") }.keys.sorted()
    #expect(early == ["webpki::forbidden-dsa-leaf", "webpki::forbidden-p192-leaf"])
  }

  @Test("Each chain has the expected verdict under strict checks, except for the listed differences")
  func strict() async throws {
    expect(try await outcomes { $0.requiresStrictChain = true }, differingBy: LimboDifferences.strict)
  }

  private typealias Outcomes = [String: (test: LimboCase, outcome: LimboOutcome)]

  /// Runs every case that can be served, one after the other, so each case takes one handshake.
  private func outcomes(adapting adapt: (inout TLSOptions) -> Void = { _ in }) async throws -> Outcomes {
    let stack = try LinkKind.current.stack()
    var found: Outcomes = [:]
    for test in try LimboCase.all() where test.isServable {
      found[test.id] = (test, try await test.fetched(by: stack, adapting: adapt))
    }
    return found
  }

  private func expect(
    _ outcomes: Outcomes, differingBy known: [String: LimboDifferences.Reason],
    location: SourceLocation = #_sourceLocation
  ) {
    let different = outcomes.filter { !$0.value.outcome.satisfies($0.value.test.expectation) }
    let unknown = different.filter { known[$0.key] == nil }.map { "\($0.key): \($0.value.outcome)" }
    #expect(unknown.sorted() == [], "is judged differently and is not listed", sourceLocation: location)
    let alike = known.keys.filter { different[$0] == nil }
    #expect(alike.sorted() == [], "is listed but judged alike", sourceLocation: location)
    // A listed difference must be a decision of ours. A chain that OpenSSL could not present, or a failure outside TLS,
    // does not qualify.
    for (id, item) in different {
      let isDecision = item.outcome == .accepted || item.outcome.description.hasPrefix("refused: tls/")
      if case .noHost = known[id] { continue }
      #expect(isDecision, "\(id): \(item.outcome)", sourceLocation: location)
    }
  }
}

/// A case of x509-limbo (C2SP): a chain, the trusted roots, and whether a client for the web must accept the chain.
struct LimboCase: Decodable, Sendable {
  enum Kind: String, Decodable, Sendable {
    case server = "SERVER"
    case client = "CLIENT"
  }

  enum Expectation: String, Decodable, Sendable {
    case success = "SUCCESS"
    case failure = "FAILURE"
  }

  struct PeerName: Decodable, Sendable {
    /// The kind of name: `DNS`, `IP` or `RFC822`.
    var kind: String
    var value: String
  }

  var id: String
  var features: [String]
  var kind: Kind
  var trustedCertificates: [String]
  var intermediates: [String]
  var certificate: String
  var privateKey: String?
  var validationTime: String?
  var expectation: Expectation
  var peerName: PeerName?
  var maximumDepth: Int?
  var revocationLists: [String]

  enum CodingKeys: String, CodingKey {
    case id, features
    case kind = "validation_kind"
    case trustedCertificates = "trusted_certs"
    case intermediates = "untrusted_intermediates"
    case certificate = "peer_certificate"
    case privateKey = "peer_certificate_key"
    case validationTime = "validation_time"
    case expectation = "expected_result"
    case peerName = "expected_peer_name"
    case maximumDepth = "max_chain_depth"
    case revocationLists = "crls"
  }

  /// The roots as PEM text.
  var roots: String { trustedCertificates.joined(separator: "\n") }

  /// The host that a client requests.
  var host: String { peerName?.value ?? "" }

  /// The certificate that a server presents; `nil` if the case has no private key.
  var identity: MintedCertificate? {
    privateKey.map {
      MintedCertificate(
        certificatePEM: certificate, privateKeyPEM: $0,
        chainPEM: ([certificate] + intermediates).joined(separator: "\n"))
    }
  }

  /// Whether a server can present the chain today and the expected result still holds. The case needs a private key and
  /// a host name, and must not depend on a clock or on revocation lists.
  var isServable: Bool {
    guard kind == .server, privateKey != nil, peerName != nil else { return false }
    return (validationTime == nil && revocationLists.isEmpty) || Self.servableAllTheSame.contains(id)
  }

  private static let servableAllTheSame: Set<String> = [
    // These certificates had expired at the case's validation time, and are still expired.
    "rfc5280::validity::expired-root", "rfc5280::validity::expired-intermediate", "rfc5280::validity::expired-leaf",
    "rfc5280::validity::expired-1-second", "rfc5280::validity::expired-5-seconds",
    // These certificates are not revoked, so they are accepted without the lists as well. They are valid for a thousand
    // years.
    "crl::certificate-not-on-crl", "crl::certificate-serial-on-crl-different-issuer",
    "crl::issuer-no-keyusage-extension", "crl::issuer-valid-crlsign-and-keycertsign",
  ]
}

extension LimboCase {
  private struct File: Decodable {
    var testcases: [LimboCase]
  }

  static func all() throws -> [LimboCase] {
    try JSONDecoder().decode(File.self, from: ConformanceData.file("x509-limbo/limbo.json")).testcases
  }
}

/// The outcome of a case.
enum LimboOutcome: Equatable, Sendable, CustomStringConvertible {
  /// The request received an answer.
  case accepted
  /// The request failed; the value is stage and code, such as `tls/untrusted_certificate`.
  case refused(String)
  /// OpenSSL cannot present the chain, so the case proves nothing.
  case notServed(String)

  var description: String {
    switch self {
    case .accepted: "accepted"
    case .refused(let code): "refused: \(code)"
    case .notServed(let reason): "not served: \(reason)"
    }
  }

  /// Returns whether the outcome is the one that the case demands. A refusal must come from TLS; any other failure
  /// proves nothing.
  func satisfies(_ expectation: LimboCase.Expectation) -> Bool {
    switch (self, expectation) {
    case (.accepted, .success): true
    case (.refused(let code), .failure): code.hasPrefix("tls/")
    default: false
    }
  }
}

extension LimboCase {
  /// Serves the case on this machine, requests it with the case's roots and host, and returns the outcome.
  ///
  /// - Parameter adapt: changes the TLS options further.
  func fetched(
    by stack: some HTTPNetworkStack, adapting adapt: (inout TLSOptions) -> Void = { _ in }
  ) async throws -> LimboOutcome {
    guard let identity else { return .notServed("there is no key") }
    // An IPv6 address cannot be mapped to 127.0.0.1 by a fixed resolution, so such a case uses a Unix socket.
    let directory = host.contains(":") ? try PeerDirectory() : nil
    let path = directory?.file("limbo")
    let server: LoopbackServer
    do {
      server = try LoopbackServer.http(unixSocketPath: path, tls: LoopbackTLS(identity)) { _ in .text("fine") }
    } catch {
      return .notServed("\(error)")
    }
    defer { server.stop() }
    let options = RequestOptions.connection { connection in
      connection.tls.roots = .pem(Array(roots.utf8))
      adapt(&connection.tls)
      if let path {
        connection.unixSocketPath = path
      } else {
        connection.resolutions = [.init(host: host, port: server.port, addresses: ["127.0.0.1"])]
      }
    }
    let authority = directory == nil ? "\(host):\(server.port)" : "[\(host)]"
    do {
      _ = try await stack.send(.get, "https://\(authority)/", options: options)
      return .accepted
    } catch {
      // If the request reached the server despite the error, the chain was not refused.
      return server.requests.isEmpty ? .refused(error.words) : .accepted
    }
  }
}

/// The cases in which our judgement differs from that of x509-limbo, with the reasons.
enum LimboDifferences {
  enum Reason: Sendable {
    // We accept the chain, and the case demands a refusal.

    /// The rule binds the issuers of certificates (CA/Browser Forum, or RFC 5280's rules for conforming authorities),
    /// and no OpenSSL client enforces it in this form. The signatures are good, the names match, the constraints hold.
    case rulesForIssuers
    /// Such a rule for issuers, which OpenSSL's strict checks (`X509_V_FLAG_X509_STRICT`) do enforce.
    case onlyWhenStrict
    /// Such a rule for issuers, about an authority without a name. libcurl before 8.11 refuses the chain itself after
    /// OpenSSL has accepted it.
    case namelessIssuer
    /// The roots contain a certificate that names an unknown issuer or a different issuer key. A root is trusted
    /// because it is among the roots (`X509_V_FLAG_PARTIAL_CHAIN`, which libcurl sets), whatever it says about its
    /// issuer.
    case trustedAsItIs
    /// The case limits the length of the chain, and we have no such option.
    case noDepthLimit
    /// A wildcard covers an excluded name as well. OpenSSL compares the pattern itself with the constraint, and libcurl
    /// compares the host with the pattern. CVE-2025-61727 is the same problem in Go.
    case wildcardOverExcluded
    /// OpenSSL has no list of public suffixes. It requires only that two labels follow the `*`.
    case publicSuffix

    // We refuse the chain, as the case demands, but outside TLS.

    /// The host is a symbol, which IDNA 2008 does not allow. No connection is opened, so no chain is judged.
    case noHost

    // We refuse the chain, and the case demands acceptance.

    /// OpenSSL's purpose check refuses it: a certificate whose key usage does not allow signatures cannot serve TLS
    /// 1.3.
    case cannotServe
    /// OpenSSL builds one path. It does not try another one if a certificate in that path turns out to be forbidden.
    case onePath
    /// Strict checks require a key usage extension in the certificates of authorities.
    case keyUsageOfAuthorities
  }

  /// The expected differences by case id, with the default checks.
  static let standard: [String: Reason] = Dictionary(
    uniqueKeysWithValues: table.flatMap { reason, ids in ids.map { ($0, reason) } }
  ).filter { $0.value != .namelessIssuer || takesNamelessIssuers }

  private static let takesNamelessIssuers: Bool = {
    let version = CurlCapabilities.current.curlVersion.split(separator: ".").compactMap { Int($0) }
    return !version.lexicographicallyPrecedes([8, 11])
  }()

  /// The expected differences by case id, with strict checks.
  static let strict: [String: Reason] = {
    var known = standard.filter { ![.onlyWhenStrict, .namelessIssuer].contains($0.value) }
    known["crl::issuer-no-keyusage-extension"] = .keyUsageOfAuthorities
    return known
  }()

  private static let table: [(Reason, [String])] = [
    (
      .rulesForIssuers,
      [
        "rfc5280::nc::permitted-dns-match-noncritical", "rfc5280::nc::invalid-dnsname-leading-period",
        "rfc5280::nc::not-allowed-in-ee-noncritical", "rfc5280::nc::not-allowed-in-ee-critical",
        "rfc5280::nc::nc-permits-invalid-dns-san", "rfc5280::pc::ica-noncritical-pc", "rfc5280::san::underscore-dns",
        "rfc5280::serial::too-long", "rfc5280::serial::zero", "webpki::aki::root-with-aki-missing-keyidentifier",
        "webpki::cn::ipv4-hex-mismatch", "webpki::cn::ipv4-leading-zeros-mismatch",
        "webpki::cn::ipv6-uppercase-mismatch", "webpki::cn::ipv6-uncompressed-mismatch",
        "webpki::cn::ipv6-non-rfc5952-mismatch", "webpki::cn::utf8-vs-punycode-mismatch", "webpki::cn::not-in-san",
        "webpki::cn::case-mismatch",
        "webpki::eku::ee-anyeku", "webpki::eku::ee-critical-eku", "webpki::eku::ee-without-eku",
        "webpki::eku::root-has-eku", "webpki::nc::intermediate-permitted-excluded-subtrees-both-null",
        "webpki::nc::intermediate-permitted-excluded-subtrees-both-empty-sequences",
        "webpki::san::san-critical-with-nonempty-subject", "webpki::malformed-aia", "webpki::forbidden-dsa-root",
        "webpki::forbidden-rsa-not-divisible-by-8-in-root", "webpki::forbidden-rsa-key-not-divisible-by-8-in-leaf",
        "webpki::ee-basicconstraints-ca",
      ]
    ),
    (
      .onlyWhenStrict,
      [
        "rfc5280::aki::leaf-missing-aki", "rfc5280::aki::intermediate-missing-aki",
        "rfc5280::san::noncritical-with-empty-subject", "rfc5280::ski::root-missing-ski",
        "rfc5280::ski::intermediate-missing-ski", "rfc5280::root-missing-basic-constraints",
        "rfc5280::root-non-critical-basic-constraints", "rfc5280::leaf-ku-keycertsign",
      ]
    ),
    (.namelessIssuer, ["rfc5280::ca-empty-subject"]),
    (
      .trustedAsItIs,
      [
        "rfc5280::aki::cross-signed-root-missing-aki", "webpki::aki::root-with-aki-authoritycertissuer",
        "webpki::aki::root-with-aki-authoritycertserialnumber", "webpki::aki::root-with-aki-all-fields",
        "webpki::aki::root-with-aki-ski-mismatch",
      ]
    ),
    (.noDepthLimit, ["pathlen::max-chain-depth-0-exhausted", "pathlen::max-chain-depth-1-exhausted"]),
    (.wildcardOverExcluded, ["cve::cve-2025-61727", "rfc5280::nc::nc-forbids-dnsname-wildcard-san"]),
    (
      .noHost,
      [
        "webpki::cn::punycode-not-in-san", "webpki::san::unicode-emoji-san",
        "webpki::san::wildcard-embedded-ulabel-san",
      ]
    ),
    (
      .publicSuffix,
      [
        "webpki::san::public-suffix-multi-label-wildcard-san",
        "webpki::san::public-suffix-private-namespace-wildcard-san",
      ]
    ),
    (.cannotServe, ["pathlen::validation-ignores-pathlen-in-leaf", "rfc5280::ca-as-leaf"]),
    (.onePath, ["rfc5280::nc::nc-forbids-alternate-chain-ica", "rfc5280::nc::nc-forbids-same-chain-ica"]),
  ]
}
