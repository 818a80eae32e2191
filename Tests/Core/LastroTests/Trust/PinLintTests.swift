// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Pin linter")
struct PinLintTests {
  typealias Finding = ServerTrustEvaluator.Finding

  static let day: TimeInterval = 86_400
  static let backup = SPKIHash.made(of: 8)
  let chain: TrustChain
  /// The current date of the tests. The chain became valid one hour earlier, for a year.
  let now: Date

  init() throws {
    chain = try TrustChain()
    now = try #require(chain.leaf.facts?.notBefore).addingTimeInterval(3600)
  }

  /// Returns a policy without problems.
  func good(
    _ domain: String = TrustChain.domain, expiration: PinningPolicy.Expiration? = nil, pins: [String]? = nil,
    mode: PinningPolicy.Mode = .enforce
  ) throws -> PinningPolicy {
    try .test(
      domain, includeSubdomains: true,
      expiration: expiration ?? .refuse(after: now.addingTimeInterval(100 * Self.day)),
      pins: pins ?? ["\(chain.intermediate.pin)", Self.backup], mode: mode)
  }

  func lint(
    _ policies: PinningPolicy..., hosts: [String] = [TrustChain.domain], allowing: Bool = false, after days: Double = 0
  ) throws -> [Finding] {
    let configuration = try ServerTrustEvaluator.Configuration(
      pinningPolicies: policies, allowNotPinnedDomains: allowing)
    let served = try Dictionary(uniqueKeysWithValues: hosts.map { (try HostName($0), chain.all) })
    return configuration.lint(served: served, at: now.addingTimeInterval(days * Self.day))
  }

  func summary(_ findings: [Finding]) -> [String] { findings.map { "\($0.severity.rawValue) \($0.code.rawValue)" } }

  @Test("A policy with the issuer's key, a backup and an expiration has no findings")
  func nothing() throws {
    #expect(try lint(good()).isEmpty)
    #expect(try lint(good(), hosts: []).isEmpty)
    try lint(good()).check(atLeast: .note)
  }

  @Test("A policy without a matching pin is an error, or a warning in report-only mode")
  func noMatch() throws {
    let pins = [Self.backup, SPKIHash.made(of: 7)]
    let findings = try lint(good(pins: pins))
    #expect(summary(findings) == ["error no_pin_matches"])
    #expect(findings.first?.hint.contains("\(chain.leaf.pin), \(chain.intermediate.pin)") == true)
    #expect(
      try summary(lint(good(pins: pins, mode: .reportOnly))) == ["warning report_only", "warning no_pin_matches"])
  }

  @Test("A missing backup is found: a single pin, or pins of the served chain only")
  func noBackup() throws {
    #expect(try summary(lint(good(pins: ["\(chain.root.pin)"]))) == ["warning no_backup_pin"])
    #expect(
      try summary(lint(good(pins: ["\(chain.root.pin)", "\(chain.leaf.pin)"]))) == ["warning no_backup_pin"])
    // The lint cannot know this without the chain.
    #expect(try lint(good(pins: ["\(chain.root.pin)", "\(chain.leaf.pin)"]), hosts: []).isEmpty)
  }

  @Test("A policy that pins only the leaf is reported with the certificate's lifetime")
  func leafOnly() throws {
    let findings = try lint(good(pins: ["\(chain.leaf.pin)", Self.backup]))
    #expect(summary(findings) == ["warning leaf_only"])
    #expect(findings.first?.message.contains("365 days") == true && findings.first?.hint.contains("47 days") == true)
  }

  @Test("Several pins of keys that are not served are found")
  func notServed() throws {
    let findings = try lint(good(pins: ["\(chain.root.pin)", Self.backup, SPKIHash.made(of: 7)]))
    #expect(summary(findings) == ["note pins_not_served"] && findings.first?.message.contains(Self.backup) == true)
  }

  @Test("Near, past and missing expirations of policies are found")
  func policyExpiration() throws {
    #expect(try summary(lint(good(), after: 69)) == [])
    #expect(try summary(lint(good(), after: 71)) == ["warning policy_expires"])
    #expect(try summary(lint(good(), after: 101)) == ["error policy_expired"])
    let soft = try good(expiration: .fallBack(after: now.addingTimeInterval(100 * Self.day)))
    #expect(try summary(lint(soft, after: 101)) == ["warning policy_expired"])
    #expect(try summary(lint(good(expiration: .never))) == ["note no_expiration"])
  }

  @Test("Near and past expirations of served certificates are found")
  func certificateExpiration() throws {
    let policy = try good(expiration: .refuse(after: now.addingTimeInterval(2000 * Self.day)))
    #expect(try summary(lint(policy, after: 357)) == [])
    #expect(try summary(lint(policy, after: 360)) == ["warning certificate_expires"])
    let findings = try lint(policy, after: 366)
    #expect(summary(findings) == ["error certificate_expired"])
    #expect(findings.first?.message.contains("CN=lastro.example.com") == true)
  }

  @Test("A child policy that repeats its parent, or demands less, is found")
  func overlapping() throws {
    let parent = try good("example.com")
    #expect(try summary(lint(parent, good())) == ["note redundant"])
    #expect(
      try summary(lint(parent, good(mode: .reportOnly))) == ["warning weaker_than_parent", "warning report_only"])
    let soft = try good(expiration: .fallBack(after: now.addingTimeInterval(100 * Self.day)))
    #expect(try summary(lint(parent, soft)) == ["warning weaker_than_parent"])
    // Different pins of equal strictness are the purpose of a child's policy.
    #expect(try lint(parent, good(pins: ["\(chain.root.pin)", Self.backup])).isEmpty)
    // A parent whose policy is off, or that does not cover the child, does not count.
    #expect(try summary(lint(.excluding("example.com"), good())) == ["note off"])
  }

  @Test("A policy that excludes a host without effect is found")
  func unreachable() throws {
    let excluding = try PinningPolicy.excluding(TrustChain.domain)
    #expect(try summary(lint(excluding, allowing: true)) == ["warning unreachable"])
    #expect(try summary(lint(excluding)) == ["note off"])
    #expect(try summary(lint(good("example.com"), excluding, allowing: true)) == ["note off"])
  }

  @Test("A served host without a policy is found if such hosts are refused")
  func notPinned() throws {
    let findings = try lint(good(), hosts: [TrustChain.domain, "other.test"])
    #expect(summary(findings) == ["error host_not_pinned"] && findings.first?.host.text == "other.test")
    #expect(try lint(good(), hosts: ["other.test"], allowing: true).isEmpty)
  }

  @Test("A child that falls back before its parent is weaker; one that falls back later is not")
  func fallsBackFirst() throws {
    func soft(_ days: Double, _ domain: String = TrustChain.domain) throws -> PinningPolicy {
      try good(
        domain, expiration: .fallBack(after: now.addingTimeInterval(days * Self.day)),
        pins: domain == TrustChain.domain ? nil : ["\(chain.root.pin)", Self.backup])
    }
    #expect(try summary(lint(soft(100, "example.com"), soft(90))) == ["warning weaker_than_parent"])
    #expect(try lint(soft(100, "example.com"), soft(100)).isEmpty)
    #expect(try lint(soft(100, "example.com"), soft(110)).isEmpty)
    // A parent policy that has expired no longer pins, so the child cannot be weaker.
    #expect(try summary(lint(soft(100, "example.com"), soft(200), after: 101)) == ["warning policy_expired"])
  }

  @Test("A policy that is off is judged by what its parent would do")
  func off() throws {
    func finding(_ parent: PinningPolicy, pins: Bool = false, after days: Double = 0) throws -> Finding? {
      let child: PinningPolicy = try pins ? good(mode: .off) : .excluding(TrustChain.domain)
      return try lint(parent, child, after: days).first { $0.host.text == TrustChain.domain }
    }
    let soft = try good("example.com", expiration: .fallBack(after: now.addingTimeInterval(100 * Self.day)))
    let rows: [(PinningPolicy, pins: Bool, days: Double, expected: String, words: String)] = [
      (try good("example.com"), false, 0, "note off", "its subdomains would pin it"),
      (try good("example.com"), true, 0, "warning off", "its subdomains would pin it"),
      (try good("example.com", mode: .reportOnly), true, 0, "note off", "its subdomains would report it"),
      (try good("example.com"), true, 101, "warning off", "which has expired, would refuse it"),
      (soft, true, 101, "warning unreachable", "its subdomains has expired"),
      (try good("example.com", mode: .off), true, 0, "warning unreachable", "is off as well"),
    ]
    for row in rows {
      let found = try #require(try finding(row.0, pins: row.pins, after: row.days))
      #expect(summary([found]) == [row.expected] && found.message.contains(row.words), "\(found)")
    }
  }

  @Test("A missing public suffix list is reported once if policies include subdomains")
  func noSuffixList() throws {
    func codes(_ policies: PinningPolicy..., list: String) throws -> [Finding.Code] {
      try ServerTrustEvaluator.Configuration(pinningPolicies: policies).lint(
        served: [:], at: now, policyExpiration: .seconds(30 * 86_400),
        certificateExpiration: .seconds(7 * 86_400), publicSuffixes: PublicSuffixList(text: list)
      ).map(\.code)
    }
    let narrow = try PinningPolicy.test(expiration: .refuse(after: now.addingTimeInterval(100 * Self.day)))
    #expect(try codes(narrow, list: "").isEmpty)
    #expect(try codes(narrow, good("a.example"), good("b.example"), list: "") == [.noPublicSuffixList])
    #expect(try codes(good("a.example"), list: "com\n").isEmpty)
  }

  @Test("Check throws findings of at least the given severity, the worst first")
  func check() throws {
    let findings = try lint(
      good("a.example", mode: .reportOnly), good(expiration: .never, pins: [Self.backup, SPKIHash.made(of: 7)]))
    let error = try #require(throws: ServerTrustEvaluator.LintError.self) { try findings.check() }
    #expect(summary(error.findings) == ["error no_pin_matches", "warning report_only"])
    #expect(error.description.hasPrefix("2 problems with the pinning configuration:\n  error no_pin_matches: "))
    #expect(
      try #require(throws: ServerTrustEvaluator.LintError.self) { try findings.check(atLeast: .note) }.findings.count
        == 3)
    #expect(
      try #require(throws: ServerTrustEvaluator.LintError.self) { try findings.check(atLeast: .error) }.findings.count
        == 1)
    let rest = try #require(throws: ServerTrustEvaluator.LintError.self) {
      try findings.check(ignoring: [.noPinMatches])
    }
    #expect(rest.findings.map(\.code) == [.reportOnly])
    try findings.check(ignoring: [.noPinMatches, .reportOnly])
  }

  @Test("Findings can be encoded as JSON")
  func json() throws {
    let findings = try lint(good(expiration: .never))
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let text = String(decoding: try encoder.encode(findings), as: UTF8.self)
    #expect(text.hasPrefix(#"[{"code":"no_expiration","hint":""#) && text.contains(#""host":"lastro.example.com""#))
    #expect(text.contains(#""severity":"note""#))
  }
}
