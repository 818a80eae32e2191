// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import Testing

@testable import Lastro

/// Root (P-521) → intermediate (P-384) → leaf (P-256), and a certificate that has nothing to do with it.
struct TrustChain {
  static let domain = "lastro.example.com"

  let root: PeerCertificate
  let intermediate: PeerCertificate
  let leaf: PeerCertificate
  let unrelated: PeerCertificate

  /// - Parameter hosts: names of the leaf.
  init(hosts: [String] = [domain], validity: CertificateValidity = .days(365)) throws {
    let root = try CertificateAuthority(commonName: "Test root", keyType: .p521)
    let intermediate = try root.intermediate(commonName: "Test intermediate", keyType: .p384)
    let leaf = try intermediate.issue(hosts: hosts, validity: validity)
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
  /// A pin of no key: 32 times the same byte.
  static func made(of byte: UInt8) -> String {
    "sha256/" + Data(repeating: byte, count: length).base64EncodedString()
  }
}

extension PinningPolicy {
  /// As Alicerce's tests make them: one pin is enough.
  static func test(
    _ domain: String = TrustChain.domain, includeSubdomains: Bool = false, expiration: Expiration = .never,
    pins: [String] = [SPKIHash.made(of: 1), SPKIHash.made(of: 2)], mode: Mode = .enforce
  ) throws -> PinningPolicy {
    try PinningPolicy(
      domainName: domain, includeSubdomains: includeSubdomains, expiration: expiration, pinnedHashes: Set(pins),
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
  var verdict: TrustVerdict? { if case .accepted(let verdict) = self { verdict } else { nil } }
  var failure: TrustFailure? { if case .refused(let failure) = self { failure } else { nil } }
}

extension Date {
  /// The date of a manual clock at zero, and so many seconds.
  static func manual(_ seconds: TimeInterval = 0) -> Date {
    Date(timeIntervalSince1970: ManualClock.epoch.inSeconds + seconds)
  }
}
