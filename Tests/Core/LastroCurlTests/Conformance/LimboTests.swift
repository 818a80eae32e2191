// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import TestSupport
import Testing

/// The chains of x509-limbo, each over a connection of its own. Where we differ stands in ``LimboDifferences``, each
/// with its reason, and the table is exact: a change to either side fails.
@Suite("Conformance: x509-limbo", .timeLimit(.minutes(5)))
struct LimboTests {
  @Test("what can be served")
  func selection() throws {
    let all = try LimboCase.all()
    #expect(all.count == 208)
    let servers = all.filter { $0.kind == .server }
    #expect(servers.count == 198)
    #expect(servers.count { $0.privateKey == nil } == 19)
    // Ten more depend on a clock or on revocation lists, and one names no host.
    #expect(servers.count { $0.isServable } == 168)
    #expect(servers.count { $0.isServable && $0.expectation == .success } == 39)
  }

  @Test("every chain")
  func standard() async throws {
    let outcomes = try await outcomes()
    expect(outcomes, differingBy: LimboDifferences.standard)
    // Server and client have no cipher in common for these, so that no chain is sent.
    let early = outcomes.filter { $0.value.outcome == .refused("tls/handshake_failed") }.keys.sorted()
    #expect(early == ["webpki::forbidden-dsa-leaf", "webpki::forbidden-p192-leaf"])
  }

  @Test("every chain, strictly")
  func strict() async throws {
    expect(try await outcomes { $0.chainChecks = .strict }, differingBy: LimboDifferences.strict)
  }

  private typealias Outcomes = [String: (test: LimboCase, outcome: LimboOutcome)]

  /// Every case that can be served, one after the other: their number is that of the handshakes.
  private func outcomes(adapting adapt: (inout TLSOptions) -> Void = { _ in }) async throws -> Outcomes {
    let stack = try CurlNetworkStack.direct()
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
    #expect(unknown.sorted() == [], "judged otherwise, and not in the table", sourceLocation: location)
    let alike = known.keys.filter { different[$0] == nil }
    #expect(alike.sorted() == [], "in the table, and judged alike", sourceLocation: location)
    // A difference is a decision: never one that OpenSSL could not present, or that failed elsewhere than in TLS.
    for (id, item) in different {
      let isDecision = item.outcome == .accepted || item.outcome.description.hasPrefix("refused: tls/")
      if case .noHost = known[id] { continue }
      #expect(isDecision, "\(id): \(item.outcome)", sourceLocation: location)
    }
  }
}

/// A case of x509-limbo (C2SP): a chain, what is trusted, and whether a client for the web must accept it.
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
    /// `DNS`, `IP` or `RFC822`.
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

  /// PEM text of the roots.
  var roots: String { trustedCertificates.joined(separator: "\n") }

  /// The host a client asks for.
  var host: String { peerName?.value ?? "" }

  /// What a server would present; `nil` without a key.
  var identity: MintedCertificate? {
    privateKey.map {
      MintedCertificate(
        certificatePEM: certificate, privateKeyPEM: $0,
        chainPEM: ([certificate] + intermediates).joined(separator: "\n"))
    }
  }

  /// Whether a server can present it today to a client, with the same right answer: its key is there, the client has a
  /// host to ask for, and neither a clock nor revocation lists matter.
  var isServable: Bool {
    guard kind == .server, privateKey != nil, peerName != nil else { return false }
    return (validationTime == nil && revocationLists.isEmpty) || Self.servableAllTheSame.contains(id)
  }

  private static let servableAllTheSame: Set<String> = [
    // What had expired then has expired.
    "rfc5280::validity::expired-root", "rfc5280::validity::expired-intermediate", "rfc5280::validity::expired-leaf",
    "rfc5280::validity::expired-1-second", "rfc5280::validity::expired-5-seconds",
    // What no list revokes is good without the lists, and valid for a thousand years.
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

/// What became of a case.
enum LimboOutcome: Equatable, Sendable, CustomStringConvertible {
  /// The request was answered.
  case accepted
  /// Stage and code, as `tls/untrusted_certificate`.
  case refused(String)
  /// OpenSSL cannot present it: nothing is proved.
  case notServed(String)

  var description: String {
    switch self {
    case .accepted: "accepted"
    case .refused(let code): "refused: \(code)"
    case .notServed(let reason): "not served: \(reason)"
    }
  }

  /// Whether it is what the case demands. A refusal must come from TLS: another one would prove nothing.
  func satisfies(_ expectation: LimboCase.Expectation) -> Bool {
    switch (self, expectation) {
    case (.accepted, .success): true
    case (.refused(let code), .failure): code.hasPrefix("tls/")
    default: false
    }
  }
}

extension LimboCase {
  /// Serves the case on this machine, asks for it with the case's roots and host, and tells what came of it.
  ///
  /// - Parameter adapt: changes the TLS options further.
  func fetched(
    by stack: CurlNetworkStack, adapting adapt: (inout TLSOptions) -> Void = { _ in }
  ) async throws -> LimboOutcome {
    guard let identity else { return .notServed("there is no key") }
    // An IPv6 address has no fixed answer to be resolved to: over a socket it needs none.
    let directory = host.contains(":") ? try PeerDirectory() : nil
    let endpoint = directory.map { LoopbackEndpoint.unixSocket(path: $0.file("limbo")) } ?? .ephemeral
    let server: LoopbackServer
    do {
      server = try LoopbackServer.http(endpoint, tls: LoopbackTLS(identity)) { _ in .text("fine") }
    } catch {
      return .notServed("\(error)")
    }
    defer { server.stop() }
    let options = RequestOptions.connection { connection in
      connection.tls.roots = .pem(Array(roots.utf8))
      adapt(&connection.tls)
      if let directory {
        connection.unixSocketPath = directory.file("limbo")
      } else {
        connection.resolutions = [.init(host: host, port: server.port, addresses: ["127.0.0.1"])]
      }
    }
    let authority = directory == nil ? "\(host):\(server.port)" : "[\(host)]"
    do {
      _ = try await stack.send(.get, "https://\(authority)/", options: options)
      return .accepted
    } catch {
      // A refusal after which the request arrived all the same would be none.
      return server.requests.isEmpty ? .refused(error.words) : .accepted
    }
  }
}

/// Where we judge a chain otherwise than x509-limbo, and why.
enum LimboDifferences {
  enum Reason: Sendable {
    // Accepted, although the case says no.

    /// Binds who issues certificates (CA/Browser Forum, or RFC 5280's words for conforming authorities) in a form that
    /// no client of OpenSSL enforces. The signatures are good, the names match, the constraints hold.
    case rulesForIssuers
    /// The same, and OpenSSL's strict checks (`X509_V_FLAG_X509_STRICT`) enforce it.
    case onlyWhenStrict
    /// The same, of an authority without a name. libcurl before 8.11 refuses it by itself, after OpenSSL has accepted
    /// it.
    case namelessIssuer
    /// The roots hold a certificate that names an unknown issuer, or another key as its issuer's. A root is trusted
    /// because it is among the roots (`X509_V_FLAG_PARTIAL_CHAIN`, which libcurl sets), whatever it says of its issuer.
    case trustedAsItIs
    /// The case limits the length of chains; there is no such option.
    case noDepthLimit
    /// A wildcard that also covers an excluded name. OpenSSL compares the pattern itself with the constraint (and
    /// libcurl the host with the pattern); CVE-2025-61727 is the same in Go.
    case wildcardOverExcluded
    /// OpenSSL has no list of public suffixes. What must have two labels after the `*` has.
    case publicSuffix

    // Refused, as the case says, but elsewhere.

    /// The host is a symbol, which IDNA 2008 has no place for: there is no connection on which to judge anything.
    case noHost

    // Refused, although the case says yes.

    /// OpenSSL's purpose check: a server's certificate whose key usage does not allow signatures cannot serve TLS 1.3.
    case cannotServe
    /// OpenSSL builds one path, and does not go back for another when it turns out to be forbidden.
    case onePath
    /// Strict checks demand a key usage extension of authorities.
    case keyUsageOfAuthorities
  }

  /// By id, with the checks that are always made.
  static let standard: [String: Reason] = Dictionary(
    uniqueKeysWithValues: table.flatMap { reason, ids in ids.map { ($0, reason) } }
  ).filter { $0.value != .namelessIssuer || takesNamelessIssuers }

  private static let takesNamelessIssuers: Bool = {
    let version = CurlCapabilities.current.curlVersion.split(separator: ".").compactMap { Int($0) }
    return !version.lexicographicallyPrecedes([8, 11])
  }()

  /// By id, with strict checks.
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
