// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Pinning policies")
struct PinningPolicyTests {
  static let pins: Set<String> = [SPKIHash.made(of: 1), SPKIHash.made(of: 2)]

  static func problem(_ make: () throws -> PinningPolicy) throws -> PinningPolicyValidationError {
    try #require(throws: PinningPolicyValidationError.self) { _ = try make() }
  }

  @Test("A policy can have a backup pin", .parity("CF01"))
  func backup() throws {
    let policy = try PinningPolicy("Example.COM.", pins: Self.pins)
    #expect(policy.host.text == "example.com" && policy.pins.count == 2 && policy.enforceBackupPin)
    #expect(!policy.includeSubdomains && policy.expiration == .never && policy.mode == .enforce)
  }

  @Test("A policy can have a single pin if no backup is demanded", .parity("CF02"))
  func single() throws {
    let policy = try PinningPolicy("example.com", pins: [SPKIHash.made(of: 1)], enforceBackupPin: false)
    #expect(policy.pins.count == 1 && !policy.enforceBackupPin)
  }

  @Test("A domain that is empty, or cannot be a host, is invalid", .parity("CF03"), arguments: ["", "."])
  func invalidDomain(name: String) throws {
    let error = try Self.problem { try PinningPolicy(name, pins: []) }
    guard case .invalidDomainName(let invalid, _) = error else { throw error }
    #expect(invalid == name)
  }

  @Test("A policy without pins is invalid", .parity("CF04"))
  func empty() throws {
    #expect(try Self.problem { try PinningPolicy("example.com", pins: []) } == .emptyPins)
  }

  @Test("Every pin that cannot be read is named", .parity("CF05"))
  func invalidPins() throws {
    let good = "r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E="
    let bad: Set<String> = [
      "", "sha256/", "sha1/\(good)", " \(good)", "\(good)\n", good.replacing("=", with: ""),
      good.replacing("/", with: "_").replacing("+", with: "-"), Data(repeating: 1, count: 31).base64EncodedString(),
      Data(repeating: 1, count: 33).base64EncodedString(), "sha256/sha256/\(good)", "SHA256/\(good)",
    ]
    let error = try Self.problem { try PinningPolicy("example.com", pins: bad.union([good])) }
    #expect(error == .invalidPins(bad))
  }

  @Test("A single pin is invalid if a backup is demanded, also if it is written twice", .parity("CF06"))
  func missingBackup() throws {
    let pin = SPKIHash.made(of: 1)
    for pins in [[pin], [pin, String(pin.dropFirst(7))]] {
      let error = try Self.problem { try PinningPolicy("example.com", pins: Set(pins)) }
      #expect(error == .missingBackupPin)
    }
  }

  @Test("Policies are equal if they say the same, however it is spelt", .parity("CF07"))
  func equal() throws {
    let bare = Set(Self.pins.map { String($0.dropFirst(7)) })
    let policy = try PinningPolicy("example.com", pins: Self.pins)
    #expect(try policy == PinningPolicy("EXAMPLE.com.", pins: bare))
    #expect(try policy.hashValue == PinningPolicy("example.com", pins: bare).hashValue)
  }

  @Test("Policies that differ in any member differ", .parity("CF08"))
  func different() throws {
    let date = Date.manual()
    let policies = [
      try PinningPolicy("example.com", pins: Self.pins),
      try PinningPolicy("example.org", pins: Self.pins),
      try PinningPolicy("example.com", includeSubdomains: true, pins: Self.pins),
      try PinningPolicy("example.com", expiration: .refuse(after: date), pins: Self.pins),
      try PinningPolicy("example.com", expiration: .fallBack(after: date), pins: Self.pins),
      try PinningPolicy("example.com", pins: Self.pins.union([SPKIHash.made(of: 3)])),
      try PinningPolicy("example.com", pins: Self.pins, enforceBackupPin: false),
      try PinningPolicy("example.com", pins: Self.pins, mode: .reportOnly),
      try PinningPolicy("example.com", pins: Self.pins, mode: .off),
    ]
    #expect(Set(policies).count == policies.count)
  }

  @Test("An invalid domain is reported before invalid pins")
  func order() throws {
    for (name, expected) in [
      ("*.example.com", PinningPolicyValidationError.wildcard("*.example.com")), ("127.0.0.1", .subdomainsOfAddress),
      ("::1", .subdomainsOfAddress), ("co.uk", .publicSuffix("co.uk")), ("com", .publicSuffix("com")),
      ("intranet", .singleLabel("intranet")),
    ] {
      let error = try Self.problem {
        try PinningPolicy(name, includeSubdomains: true, pins: ["no"], publicSuffixes: Self.suffixes)
      }
      #expect(error == expected)
    }
    // Without the subdomains, a public suffix is a host like any other.
    #expect(try PinningPolicy("co.uk", pins: Self.pins).host.text == "co.uk")
  }

  static let suffixes = PublicSuffixList(text: "com\nuk\nco.uk\n")

  @Test("Without a public suffix list, only single-label names are refused")
  func noSuffixes() throws {
    func policy(_ name: String) throws(PinningPolicyValidationError) -> PinningPolicy {
      try PinningPolicy(
        name, includeSubdomains: true, pins: Self.pins, publicSuffixes: PublicSuffixList(text: ""))
    }
    #expect(try policy("co.uk").includeSubdomains)
    #expect(try Self.problem { try policy("com") } == .singleLabel("com"))
  }

  @Test("The texts of parsed pins make the same policy as the texts that they were parsed from")
  func hashes() throws {
    let pins = Self.pins.compactMap { SPKIHash($0)?.description }
    #expect(
      try PinningPolicy("a.example", includeSubdomains: true, expiration: .refuse(after: .manual(0.5)), pins: pins)
        == PinningPolicy(
          "a.example", includeSubdomains: true, expiration: .refuse(after: .manual()), pins: Self.pins))
    #expect(try PinningPolicy("::1", pins: pins) == PinningPolicy("::1", pins: Self.pins))
    let one = pins.prefix(1)
    #expect(try Self.problem { try PinningPolicy("a.example", pins: one) } == .missingBackupPin)
    #expect(try Self.problem { try PinningPolicy("::1", pins: one) } == .missingBackupPin)
    #expect(try Self.problem { try PinningPolicy("a.example", pins: []) } == .emptyPins)
    #expect(try PinningPolicy("a.example", pins: one, enforceBackupPin: false).pins.count == 1)
  }

  @Test("IP addresses have their own policies")
  func addresses() throws {
    let policy = try PinningPolicy("192.0.2.1", pins: Self.pins)
    #expect(policy.host.isIPAddress && !policy.includeSubdomains)
    #expect(try Self.problem { try PinningPolicy("192.0.2.1", pins: []) } == .emptyPins)
    let excluded = try PinningPolicy.excluding("192.0.2.1")
    #expect(excluded.mode == .off && excluded.pins.isEmpty && excluded.host == policy.host)
  }

  @Test("Expirations outside the calendar are refused, and fractions of a second are dropped")
  func expirations() throws {
    for seconds in [TimeInterval.nan, .infinity, -.infinity, -1, 253_402_300_800, 1e300] {
      let error = try Self.problem {
        try .test(expiration: .refuse(after: Date(timeIntervalSince1970: seconds)))
      }
      #expect(error == .invalidExpiration)
    }
    let policy = try PinningPolicy.test(expiration: .fallBack(after: .manual(0.75)))
    #expect(policy.expiration == .fallBack(after: .manual()))
    #expect(try PinningPolicy.test(expiration: .refuse(after: .distantFuture)).expiration.date == .distantFuture)
  }

  @Test("Every validation error states the problem and the fix on one line")
  func texts() throws {
    let errors: [PinningPolicyValidationError] = [
      .invalidDomainName("a\nb", ConfigurationError("x", hint: "y")), .wildcard("*.a"), .ipAddress("::1"),
      .notAnIPAddress("a"), .publicSuffix("com"), .singleLabel("lan"), .emptyPins, .invalidPins(["a\nb", "c"]),
      .missingBackupPin,
      .invalidExpiration, .subdomainsOfAddress, .unclearHost,
    ]
    for error in errors { #expect(error.error.hint != nil && !error.description.contains("\n")) }
    #expect(Set(errors.map(\.description)).count == errors.count)
    #expect(
      PinningPolicyValidationError.invalidPins(["c", "a"]).description.contains(#"these pins cannot be read: "a", "c""#)
    )
    // Any number of combining marks forms one character.
    let long = PinningPolicyValidationError.invalidPins(["a" + String(repeating: "\u{301}", count: 10_000)])
    #expect(long.description.unicodeScalars.count < 300 && long.description.contains("…"))
  }
}
