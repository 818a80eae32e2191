// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

/// Alicerce's test rows for rules. The rows that need a handshake are tested over the engine.
@Suite("Server trust evaluator", .ownThread, .timeLimit(.minutes(15)))
struct ServerTrustEvaluatorTests {
  enum Pinned: String, CaseIterable { case chain, root, intermediate, leaf, leafAndWrong }

  static let wrong = SPKIHash.made(of: 9)

  static func pins(_ pinned: Pinned, of chain: TrustChain) -> [String] {
    switch pinned {
    case .chain: chain.all.map { "\($0.pin)" }
    case .root: ["\(chain.root.pin)"]
    case .intermediate: ["\(chain.intermediate.pin)"]
    case .leaf: ["\(chain.leaf.pin)"]
    case .leafAndWrong: ["\(chain.leaf.pin)", wrong]
    }
  }

  @Test(
    "One pinned key of the verified chain is enough", .parity("TE01", "TE02", "TE03", "TE04", "TE05"),
    arguments: Pinned.allCases)
  func pinned(_ pinned: Pinned) throws {
    let chain = try TrustChain()
    for order in ServerTrustEvaluator.CertificateCheckingOrder.allCases {
      let configuration = try ServerTrustEvaluator.Configuration(
        pinningPolicies: [.test(pins: Self.pins(pinned, of: chain))], certificateCheckingOrder: order)
      let evaluator = ServerTrustEvaluator(configuration: configuration)
      _ = try evaluator.judge(chain.trust())
      #expect(try evaluator.decision(on: chain.trust()) == .success(.pinned))
    }
  }

  @Test(
    "One pinned key of the verified chain is enough for a subdomain", .parity("TE11", "TE12", "TE13", "TE14", "TE15"),
    arguments: Pinned.allCases)
  func subdomain(_ pinned: Pinned) throws {
    let chain = try TrustChain(hosts: ["*.\(TrustChain.domain)"])
    let evaluator = try ServerTrustEvaluator(.test(includeSubdomains: true, pins: Self.pins(pinned, of: chain)))
    #expect(throws: Never.self) { try evaluator.judge(chain.trust("pinning.\(TrustChain.domain)")) }
  }

  @Test(
    "A chain without a pinned key is refused by host and by subdomain", .parity("TE06", "TE16"),
    arguments: ["", "sub."])
  func noPin(prefix: String) throws {
    let chain = try TrustChain()
    let policy = try PinningPolicy.test(includeSubdomains: true, pins: [Self.wrong])
    let trust = try chain.trust(prefix + TrustChain.domain)
    let failure = try #require(throws: TrustFailure.self) { try ServerTrustEvaluator(policy).judge(trust) }
    #expect(failure == TrustFailure(.noPinMatches, trust: trust, policy: policy))
  }

  @Test(
    "An expired policy is reported as expired, whatever its pins", .parity("TE07", "TE17"), arguments: ["", "sub."])
  func expired(prefix: String) throws {
    let chain = try TrustChain()
    for pin in [Self.wrong, "\(chain.leaf.pin)"] {
      let policy = try PinningPolicy.test(
        includeSubdomains: true, expiration: .refuse(after: .manual(-1)), pins: [pin])
      let trust = try chain.trust(prefix + TrustChain.domain)
      let failure = try #require(throws: TrustFailure.self) { try ServerTrustEvaluator(policy).judge(trust) }
      #expect(failure.reason == .policyExpired(.manual(-1)) && failure.policy == policy)
    }
  }

  @Test(
    "A host without a policy is allowed or refused, as configured", .parity("TE08", "TE18", "TE21"),
    arguments: ["other.example.com", "sub.\(TrustChain.domain)"])
  func notPinned(host: String) throws {
    let chain = try TrustChain()
    let policy = try PinningPolicy.test(pins: ["\(chain.leaf.pin)"])
    let trust = try chain.trust(host)
    let failure = try #require(throws: TrustFailure.self) { try ServerTrustEvaluator(policy).judge(trust) }
    #expect(failure == TrustFailure(.hostNotPinned, trust: trust))
    #expect(try ServerTrustEvaluator(policy, allowNotPinnedDomains: true).decision(on: trust) == .success(.validated))
  }

  @Test("Certificates outside the verified chain do not count, and neither does an empty chain")
  func others() throws {
    let chain = try TrustChain()
    let policy = try PinningPolicy.test(pins: ["\(chain.unrelated.pin)"])
    let evaluator = try ServerTrustEvaluator(policy)
    let trust = try chain.trust(others: [chain.unrelated])
    #expect(evaluator.decision(on: trust) == .failure(TrustFailure(.noPinMatches, trust: trust, policy: policy)))
    let nothing = ServerTrust(host: trust.host, chain: [], otherCertificates: [chain.unrelated])
    #expect(evaluator.decision(on: nothing).failure?.reason == .noPinMatches)
  }

  @Test("Keys of every type are judged alike", arguments: CertificateKeyType.allCases)
  func keyTypes(_ type: CertificateKeyType) throws {
    let root = try CertificateAuthority(keyType: type)
    let leaf = try PeerCertificate(minted: root.issue(hosts: ["a.example"], keyType: type).certificatePEM)
    let chain = [leaf, try PeerCertificate(minted: root.certificatePEM)]
    for pin in chain.map(\.pin) {
      let evaluator = try ServerTrustEvaluator(.test("a.example", pins: ["\(pin)"]))
      #expect(throws: Never.self) { try evaluator.judge(ServerTrust(host: HostName("a.example"), chain: chain)) }
    }
  }

  @Test("A policy that excludes a host removes it from its parent's, and no other host")
  func excluding() throws {
    let chain = try TrustChain()
    let evaluator = try ServerTrustEvaluator(
      .test("example.com", includeSubdomains: true), .excluding("free.example.com"))
    #expect(try evaluator.decision(on: chain.trust("free.example.com")) == .success(.validated))
    #expect(try evaluator.decision(on: chain.trust("a.free.example.com")).failure?.reason == .noPinMatches)
    let deep = try ServerTrustEvaluator(
      .test("example.com", includeSubdomains: true),
      .excluding("free.example.com", includeSubdomains: true))
    #expect(try deep.decision(on: chain.trust("a.free.example.com")) == .success(.validated))
  }

  @Test("Modes enforce, report or skip the check")
  func modes() throws {
    let chain = try TrustChain()
    let trust = try chain.trust()
    #expect(try ServerTrustEvaluator(.test(mode: .enforce)).decision(on: trust).failure?.reason == .noPinMatches)
    #expect(try ServerTrustEvaluator(.test(mode: .reportOnly)).decision(on: trust) == .success(.reported))
    #expect(try ServerTrustEvaluator(.test(mode: .off)).decision(on: trust) == .success(.validated))
    let expired = try PinningPolicy.test(expiration: .refuse(after: .manual(-1)), mode: .reportOnly)
    #expect(try ServerTrustEvaluator(expired).decision(on: trust) == .success(.reported))
    let good = try PinningPolicy.test(pins: ["\(chain.leaf.pin)"], mode: .reportOnly)
    #expect(try ServerTrustEvaluator(good).decision(on: trust) == .success(.pinned))
  }

  @Test("The last moment before expiration still counts; after it the policy's choice applies, and no parent's")
  func expiration() throws {
    let chain = try TrustChain()
    let trust = try chain.trust()
    let clock = ManualClock()
    let evaluator = try ServerTrustEvaluator(
      .test(expiration: .fallBack(after: .manual(10))), .test("example.com", includeSubdomains: true), clock: clock)
    #expect(evaluator.decision(on: trust).failure?.reason == .noPinMatches)
    clock.advance(by: .seconds(10))
    #expect(evaluator.decision(on: trust).failure?.reason == .noPinMatches)
    clock.advance(by: .milliseconds(1))
    #expect(evaluator.decision(on: trust) == .success(.policyExpired))
  }

  @Test("A proxy needs no policy, and must satisfy the one it has")
  func proxies() throws {
    let chain = try TrustChain()
    let evaluator = try ServerTrustEvaluator(.test())
    #expect(try evaluator.decision(on: chain.trust("proxy.test", role: .proxy)) == .success(.validated))
    #expect(try evaluator.decision(on: chain.trust("proxy.test", role: .server)).failure?.reason == .hostNotPinned)
    #expect(try evaluator.decision(on: chain.trust(role: .proxy)).failure?.reason == .noPinMatches)
  }

  @Test("Plain http is refused where a key is demanded or a host needs a policy")
  func plaintext() throws {
    let host = try HostName(TrustChain.domain)
    func judge(_ policy: PinningPolicy, allowing: Bool = false, _ host: HostName = host) throws -> TrustDecision {
      try ServerTrustEvaluator(policy, allowNotPinnedDomains: allowing).decisionOnPlaintext(host: host, port: 80)
    }
    let failure = try #require(judge(.test()).failure)
    #expect(failure.reason == .plaintext && failure.trust.port == 80 && failure.code == .plaintextRefused)
    let old = Date.manual(-1)
    #expect(try judge(.test(expiration: .refuse(after: old))).failure?.reason == .policyExpired(old))
    #expect(try judge(.test(expiration: .fallBack(after: old))) == .success(.plain))
    #expect(try judge(.test(mode: .reportOnly)) == .success(.plain))
    #expect(try judge(.test(mode: .off)) == .success(.plain))
    #expect(try judge(.test("a.example")).failure?.reason == .hostNotPinned)
    #expect(try judge(.test("a.example"), allowing: true) == .success(.plain))
    // The IPv6 forms name the same host.
    let address = try PinningPolicy("10.0.0.1", pins: PinningPolicyTests.pins)
    for text in ["10.0.0.1", "::ffff:10.0.0.1", "[::FFFF:a00:1]"] {
      #expect(try judge(address, allowing: true, HostName(text)).failure?.reason == .plaintext)
    }
    #expect(try judge(address, allowing: true, HostName("::ffff:10.0.0.2")) == .success(.plain))
  }

  @Test("The explanation says which policy applies and what it demands")
  func explanation() throws {
    let clock = ManualClock()
    let evaluator = try ServerTrustEvaluator(
      .test("example.com", includeSubdomains: true, expiration: .refuse(after: .manual(10))),
      .test("soft.example.com", expiration: .fallBack(after: .manual(10)), mode: .reportOnly),
      .excluding("free.example.com"), clock: clock)
    func explanation(_ host: String) throws -> String { evaluator.explanation(for: try HostName(host)) }
    #expect(
      try explanation("www.example.com")
        == "the pinning policy for example.com and its subdomains: one of 2 keys must be in the chain, "
        + "until 2001-09-09T01:46:50Z")
    #expect(try explanation("soft.example.com").contains("else it is only reported"))
    #expect(try explanation("free.example.com").hasPrefix("not pinned"))
    #expect(try explanation("other.test") == "no pinning policy: refused, as every host without one")
    clock.advance(by: .seconds(11))
    #expect(try explanation("example.com").hasSuffix("expired at 2001-09-09T01:46:50Z: refused"))
    #expect(try explanation("soft.example.com").hasSuffix("chain and host name suffice"))
  }
}

/// A chain of root (P-521), intermediate (P-384) and leaf (P-256), and a certificate outside the chain.
struct TrustChain {
  static let domain = "lastro.example.com"

  let root: PeerCertificate
  let intermediate: PeerCertificate
  let leaf: PeerCertificate
  let unrelated: PeerCertificate

  /// - Parameter hosts: the names in the leaf.
  init(hosts: [String] = [domain]) throws {
    let root = try CertificateAuthority(commonName: "Test root", keyType: .p521)
    let intermediate = try root.intermediate(commonName: "Test intermediate", keyType: .p384)
    let leaf = try intermediate.issue(hosts: hosts)
    self.root = try PeerCertificate(minted: root.certificatePEM)
    self.intermediate = try PeerCertificate(minted: intermediate.certificatePEM)
    self.leaf = try PeerCertificate(minted: leaf.certificatePEM)
    unrelated = try PeerCertificate(minted: CertificateAuthority(commonName: "Unrelated").certificatePEM)
  }

  var all: [PeerCertificate] { [leaf, intermediate, root] }

  func trust(
    _ host: String = domain, port: Int = 443, role: ServerTrust.Role = .server, others: [PeerCertificate] = []
  ) throws -> ServerTrust {
    ServerTrust(host: try HostName(host), port: port, role: role, chain: all, otherCertificates: others)
  }
}

extension PeerCertificate {
  init(minted pem: String) throws { self = try #require(PeerCertificate.certificates(pem: pem).first) }
}

extension SPKIHash {
  /// Returns a pin that belongs to no key: 32 times the same byte.
  static func made(of byte: UInt8) -> String {
    "sha256/" + Data(repeating: byte, count: length).base64EncodedString()
  }
}

extension PinningPolicy {
  /// Returns a policy as in Alicerce's tests, where a single pin is enough.
  static func test(
    _ domain: String = TrustChain.domain, includeSubdomains: Bool = false, expiration: Expiration = .never,
    pins: [String] = [SPKIHash.made(of: 1), SPKIHash.made(of: 2)], mode: Mode = .enforce
  ) throws -> PinningPolicy {
    try PinningPolicy(
      domain, includeSubdomains: includeSubdomains, expiration: expiration, pins: Set(pins),
      enforceBackupPin: false, mode: mode)
  }
}

extension ServerTrustEvaluator {
  convenience init(
    _ policies: PinningPolicy..., allowNotPinnedDomains: Bool = false, clock: ManualClock = ManualClock(),
    onReport: (@Sendable (TrustReport) async -> Void)? = nil
  ) throws {
    self.init(
      configuration: try Configuration(
        pinningPolicies: policies, allowNotPinnedDomains: allowNotPinnedDomains),
      timeSource: clock.timeSource, onReport: onReport)
  }
}

extension TrustDecision {
  var verdict: TrustVerdict? { if case .success(let verdict) = self { verdict } else { nil } }
  var failure: TrustFailure? { if case .failure(let failure) = self { failure } else { nil } }
}

extension Date {
  /// Returns the date of a manual clock that has advanced by a number of seconds.
  static func manual(_ seconds: TimeInterval = 0) -> Date {
    Date(timeIntervalSince1970: ManualClock.epoch.inSeconds + seconds)
  }
}
