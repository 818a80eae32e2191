// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl
import LastroResilience
import LastroTesting
import TestSupport
import Testing

@Suite("Resilience of the stack on libcurl", .timeLimit(.minutes(15)))
struct ResilienceTests {
  @Test("With a circuit breaker a failing server is not contacted, and the ledger and explain show it")
  func oneWord() async throws {
    let server = try LoopbackServer.http { _ in LoopbackResponse(status: 500) }
    var configuration = StackConfiguration.patient
    configuration.resilience = Resilience(breaker: try CircuitBreaker(minimumCalls: 3))
    let stack = try CurlNetworkStack.direct(configuration: configuration)
    var ends: [String] = []
    for _ in 0..<5 {
      let error = try await failure { try await stack.send(.get, server.baseURL) }
      ends.append(error.words)
      if ends.count == 3 { #expect("\(error.ledger)".contains("circuit from closed to open"), "\(error.ledger)") }
    }
    #expect(ends.suffix(2) == ["policy/circuit_open", "policy/circuit_open"], "\(ends)")
    #expect(server.requests.count == 3)
    let page = await stack.explain(.raw(try ResourceRequest(url: server.baseURL))).description
    #expect(page.contains("  circuit: open, for "), "\(page)")
    var options = RequestOptions()
    options.resilience = .none
    let error = try await failure { try await stack.send(.get, server.baseURL, options: options) }
    #expect(error.statusCode == 500 && server.requests.count == 4)
  }
}
