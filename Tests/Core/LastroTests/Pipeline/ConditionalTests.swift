// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

/// Status 304 (RFC 9110 §15.4.5) answers a request that asks whether a resource has changed. It is not a failure.
@Suite("Conditional requests", .timeLimit(.minutes(15)))
struct ConditionalTests {
  static let validators: HTTPFields = [.eTag: #"W/"1""#, .lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"]

  static func resource() -> HTTPResource<Model, APIFailure> { .get("https://example.com/a") }

  @Test("ifModified(since:) sends the validators of a response, and its value is nil if nothing changed")
  func ifModified() async throws {
    let transport = ScriptedTransport([
      .answer(200, fields: Self.validators, body: #"{"name":"a"}"#), .answer(304), .answer(200, body: #"{"name":"b"}"#),
      .answer(404, body: #"{"message":"gone"}"#),
    ])
    let stack = TransportNetworkStack(transport, interceptors: [RetryInterceptor(policy: .maxRetries(3))])
    let first = try await stack.fetch(Self.resource())
    let same = try await stack.fetch(Self.resource().ifModified(since: first.response))
    #expect(same.value == nil && same.response.status == .notModified && same.response.attempts.count == 1)
    let sent = try #require(transport.requests.last?.head.headerFields)
    #expect(sent[.ifNoneMatch] == #"W/"1""# && sent[.ifModifiedSince] == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(try await stack.fetch(Self.resource().ifModified(since: first.response)).value?.name == "b")
    let error = try await stack.failure(of: Self.resource().ifModified(since: first.response))
    #expect(error.apiError?.message == "gone")
  }

  @Test("A response without validators leads to an unconditional request")
  func withoutValidators() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200, body: #"{"name":"a"}"#))
    let stack = TransportNetworkStack(transport)
    let first = try await stack.fetch(Self.resource())
    #expect(try await stack.fetch(Self.resource().ifModified(since: first.response)).value?.name == "a")
    #expect(transport.requests.last?.head.headerFields[.ifNoneMatch] == nil)
  }

  @Test("A conditional resource is resolved against the stack's base URL")
  func based() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(304))
    let stack = TransportNetworkStack(transport) { $0.baseURL = "https://b.example" }
    let earlier = ResourceResponse(head: HTTPResponse(status: .ok, headerFields: Self.validators), url: "")
    #expect(try await stack.fetch(HTTPResource<Model, APIFailure>.get("/a").ifModified(since: earlier)).value == nil)
    #expect(transport.requests.first?.head.authority == "b.example")
  }

  @Test("With a custom condition a 304 has empty bytes, a nil optional model or an empty stream")
  func ownCondition() async throws {
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(304)))
    for fields in [[.ifNoneMatch: "*"], [.ifModifiedSince: "Sun, 06 Nov 1994 08:49:37 GMT"]] as [HTTPFields] {
      let request = try ResourceRequest.test(fields: fields)
      let raw = try await stack.fetch(.raw(request))
      #expect(raw.value.isEmpty && raw.response.status == .notModified)
      let optional = HTTPResource<Model?, APIFailure>(
        baseRequestMaking: .request(request), decoding: .json(), errorDecoding: .json())
      #expect(try await stack.fetch(optional).value == nil)
      #expect(try await stack.stream(request).value.collect(upTo: 9).isEmpty)
      #expect(try await stack.exchange(request).response.status == .notModified)
      let separate = await #expect(throws: FetchAndDecodeError<HTTPFetchError<any Error>>.self) {
        try await stack.fetchAndDecode(.raw(request), decoding: .json(Model.self))
      }
      let isStatus = if case .fetch(let error)? = separate { error.statusCode == .notModified } else { false }
      #expect(isStatus, "\(String(describing: separate))")
    }
  }

  @Test("Without a condition, or if the model cannot be empty, a 304 is a failure with a hint")
  func failures() async throws {
    let interceptor = RetryLoopTests.Script(actions: [.none, .none])
    for fields in [[:], [.ifNoneMatch: "*"]] as [HTTPFields] {
      let request = try ResourceRequest.test(fields: fields)
      let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(304)), interceptors: [interceptor])
      let error = try await stack.failure(
        of: HTTPResource<Model, APIFailure>(
          baseRequestMaking: .request(request), decoding: .json(), errorDecoding: .json()))
      guard case .http(.notModified, nil) = error.reason else { throw TestFailure("\(error)") }
      #expect(error.hint?.contains("ifModified(since:)") == true)
    }
  }
}
