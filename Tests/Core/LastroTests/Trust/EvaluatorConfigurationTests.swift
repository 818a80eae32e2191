// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Evaluator configurations")
struct EvaluatorConfigurationTests {
  typealias Configuration = ServerTrustEvaluator.Configuration

  @Test("Root to leaf counts down", .parity("CF09"))
  func rootToLeaf() { #expect(Array(order(.rootToLeaf, 3)) == [2, 1, 0]) }

  @Test("Leaf to root counts up", .parity("CF10"))
  func leafToRoot() { #expect(Array(order(.leafToRoot, 3)) == [0, 1, 2]) }

  @Test("A chain without certificates has no indices", arguments: [0, -1, Int.min])
  func noIndices(length: Int) {
    for order in ServerTrustEvaluator.CertificateCheckingOrder.allCases {
      #expect(Array(order.indices(forChainLength: length)).isEmpty)
    }
  }

  @Test("A configuration with policies refuses hosts without one by default", .parity("CF11"))
  func policies() throws {
    let configuration = try Configuration(pinningPolicies: [.test()])
    #expect(configuration.pinningPolicies.count == 1 && !configuration.allowNotPinnedDomains)
    #expect(configuration.certificateCheckingOrder == .leafToRoot)
  }

  @Test("A configuration without policies is refused", .parity("CF12"))
  func empty() {
    #expect(throws: ServerTrustEvaluator.ConfigurationValidationError.emptyPolicies) {
      try Configuration(pinningPolicies: [])
    }
  }

  @Test("Two policies for one host are refused, whatever they say and however it is spelt")
  func duplicates() throws {
    let error = try #require(throws: ServerTrustEvaluator.ConfigurationValidationError.self) {
      try Configuration(pinningPolicies: [
        .test("a.example"), .test("b.example"), .test("A.example.", includeSubdomains: true), .test("a.example"),
      ])
    }
    #expect(error == .duplicatePolicies([try HostName("a.example")]) && "\(error)".contains("a.example"))
  }

  /// The policy for each host; `nil` for no policy.
  static let lookups: [(host: String, policy: String?)] = [
    ("example.com", "example.com"), ("EXAMPLE.com.", "example.com"), ("www.example.com", "example.com"),
    ("a.b.c.example.com", "example.com"), ("api.example.com", "api.example.com"),
    // The policy for `api` does not include subdomains, so the parent's policy applies to hosts below it.
    ("v1.api.example.com", "example.com"), ("deep.example.com", "deep.example.com"),
    ("x.deep.example.com", "deep.example.com"), ("x.y.deep.example.com", "deep.example.com"),
    ("notdeep.example.com", "example.com"), ("badexample.com", nil), ("com", nil), ("example.org", nil),
    ("example.com.evil.org", nil), ("alone.test", "alone.test"), ("www.alone.test", nil), ("test", nil),
    ("192.0.2.1", "192.0.2.1"), ("192.0.2.2", nil), ("2001:db8::1", nil),
  ]

  @Test("A host's own policy applies, or else that of its nearest parent with subdomains", arguments: lookups)
  func lookup(host: String, policy: String?) throws {
    let policies: [PinningPolicy] = try [
      .test("example.com", includeSubdomains: true), .test("api.example.com"),
      .test("deep.example.com", includeSubdomains: true), .test("alone.test"),
      PinningPolicy("192.0.2.1", pins: PinningPolicyTests.pins),
    ]
    for policies in [policies, policies.reversed()] {
      let configuration = try Configuration(pinningPolicies: policies)
      #expect(try configuration.policy(for: HostName(host))?.host.text == policy)
    }
  }

  private func order(
    _ order: ServerTrustEvaluator.CertificateCheckingOrder, _ length: Int
  ) -> StrideTo<Int> { order.indices(forChainLength: length) }
}
