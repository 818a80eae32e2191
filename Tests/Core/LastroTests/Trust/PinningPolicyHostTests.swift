// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Lastro

@Suite("A pinning policy in one line")
struct PinningPolicyHostTests {
  static let pins = [Character("A"), "B"].map { "sha256/" + String(repeating: $0, count: 43) + "=" }

  @Test("A name and an address make the same policies as the longer initializers")
  func equal() throws {
    #expect(
      try PinningPolicy("API.example.com", includeSubdomains: true, pins: Self.pins)
        == PinningPolicy(domainName: "api.example.com", includeSubdomains: true, pinnedHashes: Set(Self.pins)))
    #expect(
      try PinningPolicy("192.0.2.7", pins: Self.pins)
        == PinningPolicy(ipAddress: "192.0.2.7", pinnedHashes: Set(Self.pins)))
    #expect(try PinningPolicy("2001:db8::1", pins: Self.pins).host.isIPAddress)
  }

  @Test("Invalid arguments are refused as by the longer initializers")
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
