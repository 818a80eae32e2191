// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Pinning configurations as JSON")
struct PinningCodingTests {
  typealias Configuration = ServerTrustEvaluator.Configuration

  static let pins = #"["\#(SPKIHash.made(of: 1))", "\#(SPKIHash.made(of: 2))"]"#

  static func read(_ text: String) throws(ConfigurationError) -> Configuration {
    try Configuration(json: Data(text.utf8))
  }

  /// Returns the only policy of a configuration, built from these members.
  static func policy(_ members: String) throws(ConfigurationError) -> PinningPolicy? {
    try read(#"{"policies": [{\#(members)}]}"#).pinningPolicies.first
  }

  @Test("Omitted members have the defaults of the Swift initializers")
  func defaults() throws {
    let policy = try Self.policy(#""domain": "Example.com", "pins": \#(Self.pins)"#)
    #expect(try policy == PinningPolicy("example.com", pins: PinningPolicyTests.pins))
    let configuration = try Self.read(#"{"policies": [{"domain": "a.example", "pins": \#(Self.pins)}]}"#)
    #expect(!configuration.allowNotPinnedDomains && configuration.certificateCheckingOrder == .leafToRoot)
  }

  @Test("A written configuration is read back equal, and writing is deterministic")
  func roundTrip() throws {
    let configuration = try Configuration(
      pinningPolicies: [
        .test("a.example", includeSubdomains: true, expiration: .refuse(after: .manual(0.5)), mode: .reportOnly),
        .test("b.example", expiration: .fallBack(after: .distantFuture), pins: [SPKIHash.made(of: 3)]),
        .test("off.example", mode: .off), .excluding("free.a.example", includeSubdomains: true),
        PinningPolicy("2001:db8::1", pins: PinningPolicyTests.pins),
        .excluding("192.0.2.7"), .excluding("2001:db8::2"),
      ], certificateCheckingOrder: .rootToLeaf, allowNotPinnedDomains: true)
    let text = configuration.json()
    #expect(try Self.read(text) == configuration)
    #expect(try Self.read(text).json() == text)
    for policy in configuration.pinningPolicies {
      #expect(try JSONDecoder().decode(PinningPolicy.self, from: Data(policy.json().utf8)) == policy)
    }
  }

  @Test("An excluded IP address is read and written")
  func excludedAddress() throws {
    let policy = try Self.policy(#""ipAddress": "::FFFF:192.0.2.7", "mode": "off""#)
    #expect(try policy == .excluding("192.0.2.7") && policy?.host.isIPAddress == true)
    #expect(policy?.swiftSource == #"try PinningPolicy.excluding("192.0.2.7")"#)
    // The pins are kept for the time when the policy is enabled again.
    #expect(try Self.policy(#""ipAddress": "::1", "mode": "off", "pins": \#(Self.pins)"#)?.pins.count == 2)
  }

  @Test("The file has the documented form")
  func form() throws {
    let policy = try PinningPolicy(
      "example.com", expiration: .fallBack(after: .manual()), pins: PinningPolicyTests.pins)
    #expect(
      try Configuration(pinningPolicies: [policy]).json() == """
        {
          "allowNotPinnedDomains" : false,
          "certificateCheckingOrder" : "leafToRoot",
          "policies" : [
            {
              "afterExpiration" : "fallBack",
              "domain" : "example.com",
              "enforceBackupPin" : true,
              "expires" : "2001-09-09T01:46:40Z",
              "includeSubdomains" : false,
              "mode" : "enforce",
              "pins" : [
                "\(SPKIHash.made(of: 1))",
                "\(SPKIHash.made(of: 2))"
              ]
            }
          ]
        }
        """)
  }

  static let good = #""domain": "a.example", "pins": \#(pins)"#
  /// The members of a policy, and the words of the resulting error.
  static let broken: [(members: String, words: [String])] = [
    (#""domain": "a.example""#, ["policies[0]: the policy has no pins", "backup"]),
    (#""domain": "a.example", "pins": []"#, ["policies[0]: the policy has no pins"]),
    (#""domain": "a.example", "pins": ["abc"]"#, ["policies[0]: these pins cannot be read: \"abc\""]),
    (#""domain": "a.example", "pins": "abc""#, ["policies[0].pins has to be an array, and is a string"]),
    (#""domain": "a.example", "pins": [1]"#, ["policies[0].pins[0] has to be a string, and is a number"]),
    (#""domain": "a.example", "pins": ["\#(SPKIHash.made(of: 1))"]"#, ["without a backup", "enforceBackupPin"]),
    (#""pins": \#(pins)"#, ["policies[0]: the policy does not say which host", "domain or ipAddress"]),
    (good + #", "ipAddress": "::1""#, ["which host"]),
    (#""ipAddress": "a.example", "pins": \#(pins)"#, ["not an IP address"]),
    (#""ipAddress": "::1", "includeSubdomains": true, "pins": \#(pins)"#, ["no subdomains"]),
    (#""ipAddress": "::1", "includeSubdomains": true, "mode": "off""#, ["no subdomains"]),
    (#""ipAddress": "a.example", "mode": "off""#, ["not an IP address"]),
    (#""ipAddress": "::1""#, ["the policy has no pins", "PinningPolicy.excluding"]),
    (#""domain": "*.a.example", "pins": \#(pins)"#, ["wildcard", "includeSubdomains"]),
    (#""domain": "::1", "pins": \#(pins)"#, ["ipAddress"]),
    (#""domain": "127.0.0.1", "includeSubdomains": true, "pins": ["no"]"#, ["\"127.0.0.1\" is an IP address"]),
    (#""domain": "com", "includeSubdomains": true, "pins": \#(pins)"#, ["anyone may register"]),
    (
      good + #", "includeSubdomain": true"#,
      ["policies[0].includeSubdomain: the member is unknown", "includeSubdomains"]
    ),
    (good + #", "includeSubdomains": "yes""#, ["policies[0].includeSubdomains has to be true or false"]),
    (good + #", "mode": "enforced""#, ["policies[0].mode: the value \"enforced\"", "enforce, reportOnly, off"]),
    (good + #", "expires": "2027-01-01T00:00:00Z""#, ["policies[0].expires: ", "afterExpiration"]),
    (good + #", "afterExpiration": "refuse""#, ["policies[0].afterExpiration: ", "add expires"]),
    (
      good + #", "expires": "2027-01-01T00:00:00Z", "afterExpiration": "fallback""#,
      ["policies[0].afterExpiration: the value \"fallback\"", "refuse, fallBack"]
    ),
    (
      #""domain": "a.example", "pins": [], "pins": \#(pins)"#,
      ["policies[0].pins: the member occurs twice", "remove one"]
    ),
    (#""mode": "off", "mode": "enforce", "# + good, ["policies[0].mode: the member occurs twice"]),
    (good + #", "mod\u0065": "off", "mode": "enforce""#, ["policies[0].mode: the member occurs twice"]),
    (good + #", "x": {"a\"": [1, {"b,": "}", "c": 2}], "a\"": 3}"#, [#"policies[0].x.a": the member"#]),
    (
      #""domain": "a.example", "mode": "off", "expires": "2027-01-01T00:00:00Z", "afterExpiration": "refuse""#, ["pins"]
    ),
  ]

  @Test("Each mistake in a policy is an error that names its place and the fix", arguments: broken)
  func mistakes(members: String, words: [String]) throws {
    let error = try #require(throws: ConfigurationError.self) { try Self.policy(members) }
    #expect(error.message.hasPrefix("the pinning configuration: "))
    for word in words { #expect(error.description.contains(word)) }
    #expect(!error.description.contains("\n"))
  }

  @Test(
    "Dates are UTC to the second and valid calendar dates",
    arguments: [
      "2027-01-01", "2027-01-01T00:00:00", "2027-01-01T00:00:00Zjunk", "2027-02-30T00:00:00Z", "tomorrow", "",
      "2027-01-01T00:00:00+01:00", " 2027-01-01T00:00:00Z", "1969-12-31T23:59:59Z",
    ])
  func dates(text: String) throws {
    let error = try #require(throws: ConfigurationError.self) {
      try Self.policy(Self.good + #", "expires": "\#(text)", "afterExpiration": "refuse""#)
    }
    #expect(error.hint != nil)
  }

  @Test("A valid date is read")
  func date() throws {
    let policy = try Self.policy(
      Self.good + #", "expires": "2028-02-29T23:59:59Z", "afterExpiration": "refuse""#)
    #expect(policy?.expiration == .refuse(after: Date(timeIntervalSince1970: 1_835_481_599)))
  }

  @Test(
    "Mistakes outside of policies are reported",
    arguments: [
      (#"{"policies": []}"#, ["policies: the list of pinning policies is empty"]), ("{}", ["policies is missing"]),
      ("[]", ["its top"]), ("", ["is not valid JSON"]), (#"{"policies": [],}"#, ["the pinning configuration"]),
      (#"{"policies": [{\#(good)}, {\#(good)}]}"#, ["policies: several policies are for a.example"]),
      (#"{"policies": [], "policies": [{\#(good)}]}"#, ["policies: the member occurs twice"]),
      (#"{"policies": [{\#(good)}, {"domain": "b.example", "domain": "c.example"}]}"#, ["policies[1].domain: "]),
      (#"{"policies": [{\#(good)}], "allowNotPinnedHosts": true}"#, ["allowNotPinnedHosts: the member is unknown"]),
      (#"{"policies": [{\#(good)}], "certificateCheckingOrder": "up"}"#, ["rootToLeaf, leafToRoot"]),
      (#"{"policies": [{\#(good)}, {"domain": ""}]}"#, ["policies[1]: "]),
    ] as [(String, [String])])
  func around(text: String, words: [String]) throws {
    let error = try #require(throws: ConfigurationError.self) { try Self.read(text) }
    for word in words { #expect(error.description.contains(word)) }
  }

  @Test("Equal members in different objects, and member names used as values, are not duplicates")
  func noRepetition() throws {
    let text = #"{"policies": [{\#(Self.good)}, {"domain": "domain", "mode": "off", "pins": []}]}"#
    #expect(try Self.read(text).pinningPolicies.map(\.host.text) == ["a.example", "domain"])
  }

  @Test("Text in UTF-16 is refused because its members would not be checked")
  func utf16() throws {
    let bytes = #"{"policies": []}"#.utf16.flatMap {
      [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)]
    }
    let error = try #require(throws: ConfigurationError.self) { try Configuration(json: Data(bytes)) }
    #expect(error.message == "the pinning configuration is not UTF-8")
  }

  @Test("A configuration is read from a file, and a missing file is named")
  func files() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "lastro-pins-\(UUID().uuidString).json").path
    let missing = try #require(throws: ConfigurationError.self) { try Configuration(contentsOfFile: path) }
    #expect(missing.message == "the pinning configuration \(path) cannot be read")
    let configuration = try Configuration(pinningPolicies: [.test()])
    try Data(configuration.json().utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(try Configuration(contentsOfFile: path) == configuration)
  }
}
