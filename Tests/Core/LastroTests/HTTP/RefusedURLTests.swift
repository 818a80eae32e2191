// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Refused URLs in errors", .timeLimit(.minutes(15)))
struct RefusedURLTests {
  @Test(
    "An error names the URL without possible secrets",
    arguments: [
      ("https://a.example/x y", "\"https://a.example/x y\""),
      ("api.example.org/users", "\"api.example.org/users\""),
      ("ftp://a.example/", "\"ftp://a.example/\""),
      ("https://ann:PLANTED@a.example/", "\"https://***@a.example/\""),
      ("https://ann:PLANTED/x@a.example/", "\"https://***@a.example/\""),
      ("https://ann:PLANTED", "\"https://ann:***\""),
      ("ann:PLANTED@a.example", "\"***@a.example\""),
      ("https://a.example:99999/", "\"https://a.example:99999/\""),
      ("https://a b/?token=PLANTED&page=2#PLANTED", "\"https://a b/?token=***&page=2\""),
      ("a.example?key=PLANTED&next=https://b.example/", "\"a.example?key=***&next=***\""),
      ("https:a.example", "\"https:a.example\""),
      ("https://[2001:db8::1/", "\"https://[2001:db8::1/\""),
      ("https://a\n.example/", "\"https://a\\n.example/\""),
    ])
  func shown(url: String, shown: String) throws {
    let error = try #require(throws: TransportError.self) { try RequestTarget(url) }
    #expect(error.message.hasSuffix(": \(shown)"), "\(error.message)")
    #expect(!error.message.contains("PLANTED"))
  }

  @Test("A long URL is shortened")
  func long() throws {
    let error = try #require(throws: TransportError.self) {
      try RequestTarget("https://a b/" + String(repeating: "x", count: 10_000))
    }
    #expect(error.message.count < 300 && error.message.hasSuffix("…\""))
  }

  @Test("An unusable base URL is named as such, and secrets of the request are masked in it")
  func baseURL() async throws {
    for (url, words) in [
      ("api.example.org", "the URL has no scheme: \"api.example.org\""), ("https://a.example/?a=1", "it has a query"),
    ] {
      var configuration = StackConfiguration()
      configuration.baseURL = url
      let stack = TransportNetworkStack(transport: ScriptedTransport(), configuration: configuration)
      let error = try await stack.failure(of: .test())
      #expect(error.message == "StackConfiguration.baseURL cannot be used: \(words)")
      #expect(throws: ConfigurationError.self) { try configuration.checkBaseURL() }
    }
  }
}
