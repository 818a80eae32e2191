// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import Lastro

extension ErrorTexts {
  private static let pins = ["A", "B", "C"].map { "sha256/" + String(repeating: $0, count: 43) + "=" }

  static func policies() throws -> Self {
    var texts = Self()
    func policy(_ host: String, subdomains: Bool = false, pins: [String] = pins, backup: Bool = true) -> () throws ->
      Any
    {
      { try PinningPolicy(host, includeSubdomains: subdomains, pins: pins, enforceBackupPin: backup) }
    }
    texts.provoke(
      policy("a b"), policy("*.example.com"), { try PinningPolicy(domainName: "1.2.3.4", pinnedHashes: Set(pins)) },
      { try PinningPolicy(ipAddress: "example.com", pinnedHashes: Set(pins)) }, policy("a.example", pins: []),
      policy("a.example", pins: ["x"]),
      policy("a.example", pins: [pins[0]]), policy("1.2.3.4", subdomains: true))
    texts.add(PinningPolicyValidationError.invalidExpiration, PinningPolicyValidationError.unclearHost)
    texts.add(PinningPolicyValidationError.publicSuffix("com"), PinningPolicyValidationError.singleLabel("intranet"))
    let one = try PinningPolicy("a.example", pins: pins)
    texts.provoke(
      { try ServerTrustEvaluator.Configuration(pinningPolicies: [], allowNotPinnedDomains: true) },
      { try ServerTrustEvaluator.Configuration(pinningPolicies: [one, one], allowNotPinnedDomains: true) })
    return texts
  }

  static func policyFiles() -> Self {
    var texts = Self()
    func file(_ text: String) -> () throws -> Any {
      { try ServerTrustEvaluator.Configuration(json: Data(text.utf8)) }
    }
    func policy(_ members: String) -> () throws -> Any {
      file(#"{"policies": [{"pins": ["\#(pins[0])", "\#(pins[1])"], \#(members)}]}"#)
    }
    texts.provoke(
      file("a\0"), file("{"), file("[]"), file("{}"), file(#"{"policies": [], "policies": []}"#),
      file(#"{"policies": 1}"#), file(#"{"policies": [1]}"#),
      policy(#""domain": 1"#), policy(#""domain": "a.example", "includeSubdomains": 1"#), file(#"{"hosts": []}"#),
      policy(#""mode": "off""#),
      policy(#""domain": "a.example", "mode": "on""#), policy(#""domain": "a.example", "afterExpiration": "refuse""#),
      policy(#""domain": "a.example", "expires": "tomorrow""#),
      policy(#""domain": "a.example", "expires": "2027-01-01T00:00:00Z""#),
      { try ServerTrustEvaluator.Configuration(contentsOfFile: "/nowhere/pins.json") },
      { try JSONDecoder().decode([SPKIHash].self, from: Data(#"["x"]"#.utf8)) })
    for pem in ["", "-----BEGIN CERTIFICATE-----x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
      texts.provoke({ try PeerCertificate.certificates(pem: pem) })
    }
    return texts
  }

  static func refusals() throws -> Self {
    var texts = Self()
    let keys = try ["D", "E", "F"].map { try #require(SPKIHash("sha256/" + String(repeating: $0, count: 43) + "=")) }
    let trust = ServerTrust(
      host: try HostName("a.example"), chain: keys.map { PeerCertificate(der: [], pin: $0) })
    let policy = try PinningPolicy("a.example", pins: pins)
    let date = Date(timeIntervalSince1970: 0)
    let reasons: [TrustFailure.Reason] = [
      .noPinMatches, .policyExpired(date), .hostNotPinned, .plaintext, .unproven, .refused("not on my list"),
    ]
    for reason in reasons { texts.add(TransportError.refusedTrust(TrustFailure(reason, trust: trust, policy: policy))) }
    texts.add(TransportError.refusedTrust(TrustFailure(.noPinMatches, trust: trust)))
    let other = ServerTrust(
      host: try HostName("a.example"), chain: trust.chain, otherCertificates: [PeerCertificate(der: [], pin: keys[0])])
    let failure = TrustFailure(.noPinMatches, trust: other, policy: policy)
    for isEnforced in [true, false] { texts.add("TrustFailure", failure.page(isEnforced: isEnforced)) }
    return texts
  }
}
