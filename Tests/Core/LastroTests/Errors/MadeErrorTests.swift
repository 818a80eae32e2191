// SPDX-License-Identifier: Apache-2.0

// The import is not @testable: other stacks, and tests of features, are written like this.
import Foundation
import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

private struct Problem: Error, Equatable { var name: String }
private struct Other: Error, Equatable { var name: String }

/// A stack whose every fetch fails with the same error.
private struct FailingStack: HTTPNetworkStack {
  var error: HTTPFetchError<any Error>

  func fetch(
    _ resource: RawHTTPResource
  ) async throws(HTTPFetchError<any Error>) -> Fetched<Data, ResourceResponse> { throw error }

  func fetch<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Fetched<Model, ResourceResponse> {
    throw error.mapAPIError { $0 as? APIError }
  }

  func stream<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Fetched<ResponseBody, ResourceResponse> {
    throw error.mapAPIError { $0 as? APIError }
  }
}

@Suite("Errors created by users", .timeLimit(.minutes(15)))
struct MadeErrorTests {
  private typealias Failure = HTTPFetchError<Problem>

  @Test(
    "The wait that a server asks for is read in seconds or as a date, and is nil for anything else",
    arguments: [
      (["120"], .seconds(120)), (["Thu, 01 Jan 2026 00:00:45 GMT"], .seconds(45)), (["3", "9"], .seconds(9)),
      ([], nil), (["0"], nil), (["-5"], nil), (["1.5"], nil), (["soon"], nil),
      (["Wed, 31 Dec 2025 23:59:59 GMT"], nil), (["99999999999999999999"], .seconds(1_000_000_000)),
    ] as [([String], Duration?)], [429, 503, 301])
  func retryAfter(row: ([String], Duration?), status: Int) {
    let (values, wait) = row
    var head = HTTPResponse(status: .init(code: status))
    head.headerFields[.date] = "Thu, 01 Jan 2026 00:00:00 GMT"
    for value in values { head.headerFields.append(HTTPField(name: .retryAfter, value: value)) }
    let response = ResourceResponse(head: head, url: "https://example.com/")
    #expect(Failure(.http(head.status, nil), response: response).retryAfter == wait)
    #expect(Failure(.http(head.status, nil)).retryAfter == nil)
  }

  @Test("A date without the server's own Date is compared with this machine's clock")
  func retryAfterWithoutDate() {
    var head = HTTPResponse(status: .serviceUnavailable)
    head.headerFields[.retryAfter] = "Fri, 31 Dec 9999 23:59:59 GMT"
    let response = ResourceResponse(head: head, url: "https://example.com/")
    #expect(Failure(.http(head.status, nil), response: response).retryAfter == .seconds(1_000_000_000))
    head.headerFields[.retryAfter] = "Thu, 01 Jan 1970 00:00:00 GMT"
    let past = ResourceResponse(head: head, url: "https://example.com/")
    #expect(Failure(.http(head.status, nil), response: past).retryAfter == nil)
  }

  @Test("An error of every reason can be created and has that reason")
  func reasons() {
    let transport = TransportError(stage: .connect, code: .connectFailed, message: "m", engineCode: 7)
    let decode = DecodeFailure(Problem(name: "x"), payload: 1, metadata: 2)
    let made: [(Failure.Reason, FailureStage, FailureCode)] = [
      (.noRequest(Problem(name: "x")), .request, .requestMakingFailed),
      (.http(.notFound, nil), .http, .unexpectedStatus),
      (.noData(.ok), .response, .noData), (.transport(transport), .connect, .connectFailed),
      (.badResponse(transport), .connect, .connectFailed), (.redirect(transport), .connect, .connectFailed),
      (.cancelled, .cancelled, .cancelled),
      (.decode(decode), .decode, .undecodable),
    ]
    for (reason, stage, code) in made {
      let error = Failure(reason)
      #expect(error.stage == stage && error.code == code)
      #expect("\(error.reason)" == "\(reason)")
      #expect(error.isCancelled == (stage == .cancelled))
      let ended = Failure(reason, retryEnd: .policy(.retries(1)), retryState: Retry.State(totalDelay: .seconds(3)))
      #expect(ended.stage == stage && ended.code == code && "\(ended.reason)" == "\(reason)")
      #expect(ended.retryEnd?.code == "retries" && ended.retryFailure?.state.totalDelay == .seconds(3))
    }
  }

  @Test("An error can be created with all its properties")
  func parts() async throws {
    let stack = TransportNetworkStack(transport: ScriptedTransport([.respond(status: 200)]))
    let attempts = try await stack.fetch(.raw(ResourceRequest(url: "https://example.com/"))).response.ledger.attempts
    let response = ResourceResponse(head: HTTPResponse(status: .notFound), url: "https://example.com/")
    let error = Failure(
      .http(.notFound, Problem(name: "a")), request: "GET https://example.com/", response: response,
      body: Data(#"{"token":"x"}"#.utf8), attempts: attempts,
      retryEnd: .attemptLimit(7))
    #expect(error.apiError == Problem(name: "a") && error.statusCode == .notFound)
    #expect(error.request == "GET https://example.com/" && error.response?.url == "https://example.com/")
    #expect(error.body?.count == 13 && error.bodySnippet?.text == #"{"token":"***"}"#)
    #expect(error.attempts.count == 1 && error.retryEnd?.description.contains("7 attempts") == true)
    #expect(Failure(.http(.notFound, nil)).statusCode == .notFound)
  }

  @Test("The API's error can be mapped, also in the failures of a retry")
  func mapping() throws {
    let first = Failure(.http(.notFound, Problem(name: "a")))
    let mapped = first.mapAPIError { Other(name: $0.name + "!") }
    #expect(mapped.apiError == Other(name: "a!") && mapped.statusCode == .notFound)
    #expect(first.mapAPIError { _ in Other?.none }.apiError == nil)
    #expect(Failure(.noData(.ok)).mapAPIError { Other(name: $0.name) }.apiError == nil)
    let retried = Failure(
      .http(.conflict, Problem(name: "b")), retryEnd: .policy(.retries(1)),
      retryState: Retry.State(errors: [first.erased, first]))
    let other = retried.mapAPIError { Other(name: $0.name + "!") }
    #expect(other.apiError == Other(name: "b!"))
    let errors = try #require(other.retryFailure?.state.errors)
    #expect((errors.last as? HTTPFetchError<Other>)?.apiError == Other(name: "a!"))
    #expect((errors.first as? HTTPFetchError<any Error>)?.apiError as? Other == Other(name: "a!"))
  }

  @Test("Another stack can throw typed fetch errors")
  func otherStack() async {
    let stack: any HTTPNetworkStack = FailingStack(
      error: HTTPFetchError<any Error>(.http(.conflict, Problem(name: "x"))))
    let making = BaseRequestMaking<ResourceRequest> { try ResourceRequest(url: "https://example.com/") }
    let resource = HTTPResource<NoContent, Problem>(
      baseRequestMaking: making, decoding: .empty, errorDecoding: .dummy)
    let error = await #expect(throws: HTTPFetchError<Problem>.self) { try await stack.fetch(resource) }
    #expect(error?.apiError == Problem(name: "x") && error?.statusCode == .conflict)
  }
}
