// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Idempotency keys", .timeLimit(.minutes(15)))
struct IdempotencyKeyTests {
  /// Returns the keys of a call in which each attempt's request is made with another key.
  static func keys(_ idempotency: RequestOptions.Idempotency) async throws -> (sent: [String?], told: String?) {
    let calls = EventRecorder<Int>()
    let making = BaseRequestMaking<ResourceRequest> {
      var options = RequestOptions()
      options.idempotency = idempotency
      return try .test(.post, fields: [.idempotencyKey: "fresh-\(calls.record(0))"], options: options)
    }
    let transport = ScriptedTransport(
      repeatingLast: .answer(503), .fail(.response, .connectionLost, sent: true), .answer(200))
    let value = try await TransportNetworkStack(transport).fetch(
      RawHTTPResource(baseRequestMaking: making, interceptors: [RetryInterceptor(policy: .maxRetries(3))]))
    return (transport.requests.map { $0.head.headerFields[.idempotencyKey] }, value.response.ledger.idempotencyKey)
  }

  @Test("An endpoint that makes a new key for every attempt does not cause the server to process each")
  func freshKeys() async throws {
    for idempotency in [RequestOptions.Idempotency.byMethod, .idempotent, .generatedKey] {
      let keys = try await Self.keys(idempotency)
      #expect(keys.sent == ["fresh-0", "fresh-0", "fresh-0"] && keys.told == "fresh-0")
    }
    let own = try await Self.keys(.key("mine"))
    #expect(own.sent == ["mine", "mine", "mine"] && own.told == "mine")
  }
}
