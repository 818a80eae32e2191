// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Lastro

@Suite("A pinning policy in one line")
struct PinningPolicyHostTests {
  static let pins = [Character("A"), "B"].map { "sha256/" + String(repeating: $0, count: 43) + "=" }

  @Test("A name and an address each make a policy, whatever the sequence of pins")
  func hosts() throws {
    let named = try PinningPolicy("API.example.com", includeSubdomains: true, pins: Self.pins)
    #expect(named.host.text == "api.example.com" && named.includeSubdomains)
    #expect(try named == PinningPolicy("api.example.com", includeSubdomains: true, pins: Set(Self.pins)))
    let addressed = try PinningPolicy("192.0.2.7", pins: Self.pins)
    #expect(addressed.host.isIPAddress && !addressed.includeSubdomains)
    #expect(try PinningPolicy("2001:db8::1", pins: Self.pins).host.isIPAddress)
  }

  @Test("Invalid arguments are refused")
  func refused() {
    #expect(throws: PinningPolicyValidationError.emptyPins) { try PinningPolicy("a.example", pins: [String]()) }
    #expect(throws: PinningPolicyValidationError.missingBackupPin) {
      try PinningPolicy("a.example", pins: [Self.pins[0]])
    }
    #expect(throws: PinningPolicyValidationError.invalidPins(["x"])) { try PinningPolicy("a.example", pins: ["x"]) }
    #expect(throws: PinningPolicyValidationError.wildcard("*.example")) {
      try PinningPolicy("*.example", pins: Self.pins)
    }
    #expect(throws: PinningPolicyValidationError.subdomainsOfAddress) {
      try PinningPolicy("192.0.2.7", includeSubdomains: true, pins: Self.pins)
    }
  }
}
