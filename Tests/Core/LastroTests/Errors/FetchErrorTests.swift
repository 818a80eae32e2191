// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Fetch errors", .timeLimit(.minutes(15)))
struct FetchErrorTests {
  typealias Failure = HTTPFetchError<APIFailure>

  static let response = ResourceResponse(head: HTTPResponse(status: .notFound), url: "https://example.com/")

  static func error(
    _ kind: FailureRecord.Kind, response: ResourceResponse? = nil, apiError: APIFailure? = nil
  ) -> Failure { Failure(FailureRecord(kind, response: response, apiError: apiError)) }

  static let transport = TransportError(stage: .connect, code: .connectFailed, message: "m", engineCode: 7)

  static let withoutResponse: [FailureRecord.Kind] = [
    .noRequest(TestError()), .transport(transport), .badResponse(transport), .redirect(transport),
    .cancelled(.cancelled()),
  ]

  @Test("Each kind of error has its response", .parity("ER01"))
  func response() {
    for kind in Self.withoutResponse { #expect(Self.error(kind).response == nil) }
    #expect(Self.error(.http(.notFound), response: Self.response).response?.status == .notFound)
    #expect(Self.error(.noData(.ok), response: Self.response).response != nil)
    let retried = Failure(.http(.notFound, nil), response: Self.response, retryEnd: .policy(.retries(1)))
    #expect(retried.response?.status == .notFound)
    #expect(Failure(.noRequest(TestError()), retryEnd: .policy(.retries(1))).response == nil)
  }

  @Test(
    "An error describes its last failure, whether a policy ended the call or not, and lists every failure",
    .parity("ER02"))
  func lastFailure() {
    let first = Self.error(.http(.notFound), response: Self.response)
    let last = Self.error(.transport(Self.transport))
    let ends: [Retry.End?] = [nil, .policy(.retries(1)), .policy(.delay(.seconds(2))), .attemptLimit(3), .trust]
    for errors in [[first, last.erased], [first, last], [TestError()]] as [[any Error]] {
      for end in ends {
        let error = Failure(
          .transport(Self.transport), retryEnd: end, retryState: Retry.State(errors: errors, totalDelay: .seconds(1)))
        guard case .transport(let cause) = error.reason else {
          Issue.record("\(error)")
          continue
        }
        #expect(cause.code == .connectFailed && error.stage == .connect && error.code == .connectFailed)
        #expect(error.retryEnd?.code == end?.code)
        guard case .policy = end else {
          #expect(error.retryFailure == nil)
          continue
        }
        #expect(
          error.retryFailure?.state.errors.count == errors.count && error.retryFailure?.state.totalDelay == .seconds(1))
        #expect(error.retryFailure?.error.description == end?.description)
      }
    }
  }

  @Test("Each kind of error has its status code", .parity("ER03"))
  func statusCode() {
    for kind in Self.withoutResponse { #expect(Self.error(kind).statusCode == nil) }
    #expect(Self.error(.http(.notFound), response: Self.response).statusCode == .notFound)
    #expect(Failure(.http(.notFound, nil), retryEnd: .policy(.retries(1))).statusCode == .notFound)
    #expect(Failure(.transport(Self.transport), retryEnd: .policy(.retries(1))).statusCode == nil)
  }

  @Test("The seven cases of Alicerce's error are distinguished")
  func sevenCases() {
    func name(_ error: Failure) -> String {
      if case (.delay(.seconds(3)), let state)? = error.retryFailure, state.totalDelay == .seconds(4) { return "retry" }
      return switch error.reason {
      case .noRequest: "noRequest"
      case .http(.notFound, APIFailure(message: "m")?): "http"
      case .noData(.ok): "noData"
      case .transport: "url"
      case .badResponse: "badResponse"
      case .cancelled: "cancelled"
      default: "other"
      }
    }
    let errors = [
      Self.error(.noRequest(TestError())),
      Self.error(.http(.notFound), response: Self.response, apiError: APIFailure(message: "m")),
      Self.error(.noData(.ok)), Self.error(.transport(Self.transport)), Self.error(.badResponse(Self.transport)),
      Failure(.noData(.ok), retryEnd: .policy(.delay(.seconds(3))), retryState: Retry.State(totalDelay: .seconds(4))),
      Self.error(.cancelled(.cancelled())),
    ]
    #expect(errors.map(name) == ["noRequest", "http", "noData", "url", "badResponse", "retry", "cancelled"])
  }

  @Test("An error occupies one word, whatever it contains")
  func size() {
    #expect(MemoryLayout<Failure>.size == MemoryLayout<Int>.size)
  }

  @Test("Descriptions have one line for logs and details for debugging, without secrets of the URL")
  func descriptions() async throws {
    let transport = ScriptedTransport(
      repeatingLast:
        .fail(.connect, .connectFailed),
      .answer(503, fields: [.retryAfter: "7"], body: #"{"message":"m","token":"s3cr3t"}"#))
    let script = RetryLoopTests.Script(actions: [.retryAfter(.seconds(2)), .noRetry(.retries(1))])
    let request = try ResourceRequest.test(url: "https://example.com/a?token=s3cr3t&page=2")
    let error = try await TransportNetworkStack(transport).failure(
      of: PipelineTests.typed(request, interceptors: [script]))
    #expect(!error.description.contains("\n"))
    #expect(error.description.hasPrefix("http/unexpected_status"))
    #expect(error.description.contains("not retried again: the limit of 1 retry is reached"))
    #expect(error.description.contains("GET https://example.com/a?token=***&page=2"))
    #expect(error.description.contains("503") && error.description.contains("2 attempts"))
    #expect(error.hint?.contains("Retry-After: 7") == true)
    let debug = error.debugDescription
    #expect(debug.contains("#1 at 0 ms, 0 ms: failed, connect/connect_failed"))
    #expect(debug.contains("#2 at 2 s, 0 ms: status, status 503"))
    #expect(debug.contains("because of connect/connect_failed"))
    #expect(debug.contains("APIFailure"))
    #expect(!debug.contains("s3cr3t"))
    #expect(error.body.map { String(decoding: $0, as: UTF8.self) }?.contains("s3cr3t") == true)
  }

  @Test("The engine's code is kept, also under an exhausted policy")
  func engineCode() async throws {
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .fail(.connect, .connectFailed)))
    #expect(try await stack.failure(of: .test()).engineCode == 7)
    #expect(try await stack.failure(of: .intercepted(by: HTTPRetryPolicy.maxRetries(2))).engineCode == 7)
  }

  @Test("Body snippets can be switched off and are bounded")
  func snippets() async throws {
    let long = String(repeating: "x", count: 2000)
    for (limit, count) in [(0, nil), (10, 10), (512, 512)] as [(Int, Int?)] {
      let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(500, body: long))) {
        $0.bodySnippetBytes = limit
      }
      let text = try await stack.failure(of: .test()).bodySnippet?.text
      #expect(text?.prefix { $0 == "x" }.count == count)
    }
  }

  @Test("A 401 has a hint that mentions authenticators")
  func hints() async throws {
    let error = try await TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(401))).failure(of: .test())
    #expect(error.hint?.contains("authenticator") == true)
  }

  @Test("User information and malformed items are not shown in the request's description")
  func summary() async throws {
    var request = try ResourceRequest.test(url: "https://example.com/a?s3cr3t&page=2&=s3cr3t#s3cr3t")
    #expect(request.summary == "GET https://example.com/a?***&page=2&=***")
    request.head.authority = "u:s3cr3t@example.com"
    request.head.path = "/a?#s3cr3t&x"
    let error = try await TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(200))).failure(
      of: .raw(request))
    #expect(error.stage == .request)
    #expect(error.request == "GET https://***@example.com/a?***&***")
    #expect(!error.debugDescription.contains("s3cr3t"))
  }

  @Test("The head kept by a transport's error becomes the response of the fetch error")
  func headOfTransportError() async throws {
    let head = HTTPResponse(status: .ok, headerFields: [.server: "x"])
    let cut = TransportError(
      stage: .response, code: .truncatedBody, message: "scripted", requestSent: true,
      facts: TransferFacts(bytesReceived: 7), head: head)
    let script = RetryLoopTests.Script(actions: [.retry])
    let error = try await TransportNetworkStack(ScriptedTransport(repeatingLast: .redirect(to: "/b"), .fail(cut)))
      .failure(
        of: .intercepted(by: script))
    #expect(error.code == .truncatedBody && error.statusCode == .ok)
    #expect(error.response?.headerFields[.server] == "x" && error.response?.facts.bytesReceived == 7)
    #expect(error.attempts.map(\.status) == [.ok, .ok])
    #expect(error.attempts.last?.reason == "response/truncated_body")
    let seen = try #require(script.seen.events.first?.response)
    #expect(seen.status == .ok && seen.url == "https://example.com/b" && seen.redirects == ["https://example.com/b"])
  }

  @Test("The reason why an error body did not decode is given without its contents")
  func errorBodyFailure() async throws {
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(500, body: #"{"message":123456789}"#))) {
      $0.bodySnippetBytes = 0
    }
    let error = try await stack.failure(of: PipelineTests.typed())
    #expect(error.apiErrorDecodingFailure is DecodingError)
    #expect(error.debugDescription.contains("at message") && !error.debugDescription.contains("123456789"))
  }
}
