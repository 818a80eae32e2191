// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LastroTesting
import Testing

@testable import Lastro

/// A minted chain, and policies about it.
private struct LinterCases {
  let chain: [PeerCertificate]
  let now: Date
  let spares = ["A", "B", "C"].map { "sha256/" + String(repeating: $0, count: 43) + "=" }

  init() throws {
    let authority = try CertificateAuthority()
    chain = try PeerCertificate.certificates(
      pem: authority.issue(hosts: ["a.parent.example"]).certificatePEM + authority.rootPEM)
    now = chain.first?.facts?.notBefore.addingTimeInterval(3600) ?? Date()
  }

  func policy(
    _ host: String = "a.parent.example", _ expiration: PinningPolicy.Expiration? = nil, pins: [String]? = nil,
    mode: PinningPolicy.Mode = .enforce
  ) throws -> PinningPolicy {
    let pins = pins ?? ["\(chain[1].pin)", spares[0]]
    return try PinningPolicy(
      host, includeSubdomains: true, expiration: expiration ?? .refuse(after: day(100)), pins: pins,
      enforceBackupPin: false, mode: mode)
  }

  func day(_ number: Double) -> Date { now.addingTimeInterval(number * 86_400) }

  func lint(_ policies: PinningPolicy..., allowing: Bool = true, after days: Double = 0) throws
    -> [ServerTrustEvaluator.Finding]
  {
    let configuration = try ServerTrustEvaluator.Configuration(
      pinningPolicies: policies, allowNotPinnedDomains: allowing)
    return configuration.lint(
      served: [try HostName("a.parent.example"): chain], at: day(days), policyExpiration: .seconds(30 * 86_400),
      certificateExpiration: .seconds(7 * 86_400), publicSuffixes: PublicSuffixList(text: "com\n"))
  }
}

extension ErrorTexts {
  static func linter() throws -> Self {
    var texts = Self()
    texts.masks = minted
    let cases = try LinterCases()
    func policy(
      _ host: String = "a.parent.example", _ expiration: PinningPolicy.Expiration? = nil, pins: [String]? = nil,
      mode: PinningPolicy.Mode = .enforce
    ) throws -> PinningPolicy {
      try cases.policy(host, expiration, pins: pins, mode: mode)
    }
    let leaf = "\(cases.chain[0].pin)", root = "\(cases.chain[1].pin)"
    let excluded = try PinningPolicy.excluding(domainName: "a.parent.example")
    let expired = cases.day(-1), soon = cases.day(1), late = cases.day(200)
    let findings: [[ServerTrustEvaluator.Finding]] = try [
      cases.lint(policy("b.example"), allowing: false), cases.lint(policy(mode: .reportOnly)),
      cases.lint(policy(mode: .off), PinningPolicy.excluding(domainName: "parent.example", includeSubdomains: true)),
      cases.lint(policy("parent.example"), policy(mode: .off)), cases.lint(policy("parent.example"), excluded),
      cases.lint(policy("parent.example", mode: .reportOnly), excluded),
      cases.lint(policy("parent.example", .refuse(after: expired)), excluded),
      cases.lint(policy("parent.example", .fallBack(after: expired)), excluded), cases.lint(excluded),
      cases.lint(excluded, allowing: false), cases.lint(policy("a.parent.example", .never)),
      cases.lint(policy("a.parent.example", .refuse(after: expired))),
      cases.lint(policy("a.parent.example", .fallBack(after: expired))),
      cases.lint(policy("a.parent.example", .refuse(after: soon))),
      cases.lint(policy("a.parent.example", .fallBack(after: soon))),
      cases.lint(policy("parent.example"), policy()), cases.lint(policy("parent.example"), policy(mode: .reportOnly)),
      cases.lint(policy("parent.example"), policy("a.parent.example", .fallBack(after: late))),
      cases.lint(policy(pins: [root])),
      cases.lint(policy(pins: [root, leaf])), cases.lint(policy(pins: [root] + cases.spares)),
      cases.lint(policy(pins: cases.spares)), cases.lint(policy(pins: cases.spares, mode: .reportOnly)),
      cases.lint(policy(pins: [leaf, cases.spares[0]])), cases.lint(policy(), after: 99_999),
      cases.lint(policy(), after: 362),
    ]
    let withoutSuffixes = try ServerTrustEvaluator.Configuration(
      pinningPolicies: [policy()], allowNotPinnedDomains: true
    ).lint(
      served: [:], at: cases.now, policyExpiration: .zero, certificateExpiration: .zero,
      publicSuffixes: PublicSuffixList(text: ""))
    for finding in findings.joined() + withoutSuffixes { texts.add("Finding", finding.description) }
    texts.provoke({ try cases.lint(policy(pins: [root]), allowing: false).check() })
    return texts
  }
}
