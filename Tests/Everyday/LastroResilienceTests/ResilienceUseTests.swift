// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroResilience
import LastroTesting
import TestSupport
import Testing

@Suite("A request's own resilience", .timeLimit(.minutes(15)))
struct ResilienceUseTests {
  private func breaker() throws -> CircuitBreaker {
    try CircuitBreaker(window: .calls(2), minimumCalls: 2)
  }

  @Test("A request's own circuit breaker applies in a stack without resilience, for fetches and streams")
  func stackWithout() async throws {
    let transport = ScriptedTransport(repeatingLast: .fail(.connect, .connectFailed))
    let stack = TransportNetworkStack(transport)
    var options = RequestOptions()
    options.resilience = .with(Resilience(breaker: try breaker()))
    let resource = try RawHTTPResource.test(options: options)
    for _ in 0..<2 { #expect(try await stack.failure(of: resource).words == "connect/connect_failed") }
    #expect(try await stack.failure(of: resource).words == "policy/circuit_open")
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await stack.stream(resource) }
    #expect(error?.words == "policy/circuit_open")
    #expect(transport.requests.count == 2)
    #expect(await stack.explain(resource).description.contains("circuit"))
    // Other requests of the stack do not share it.
    #expect(try await stack.failure(of: .test()).words == "connect/connect_failed")
  }

  @Test("In a stack without resilience, requests that ask for none, or for those of the stack, are sent")
  func withoutParts() async throws {
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(200)))
    for use in [StackPartUse<Resilience>.none, .stack] {
      var options = RequestOptions()
      options.resilience = use
      #expect(try await stack.fetch(.test(options: options)).response.status == .ok)
    }
  }
}
