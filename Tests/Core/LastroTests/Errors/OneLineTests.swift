// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

/// The contents of the log line besides stage, code and message.
@Suite("Errors in one line", .timeLimit(.minutes(15)))
struct OneLineTests {
  static let page: HTTPFields = [.contentType: "text/html; charset=utf-8"]

  static func failure(
    _ step: ScriptedTransport.Step, url: String = "https://example.com/a", _ options: RequestOptions = RequestOptions()
  ) async throws -> HTTPFetchError<APIFailure> {
    let request = try ResourceRequest.test(url: url, options: options)
    return try await TransportNetworkStack(ScriptedTransport(repeatingLast: step)).failure(
      of: HTTPResource<Model, APIFailure>(
        baseRequestMaking: .request(request), decoding: .json(), errorDecoding: .json()))
  }

  @Test("The line contains the API's message, unbroken, shortened and masked")
  func apiWords() async throws {
    let error = try await Self.failure(.answer(404, body: #"{"message":"no item\n999, token=s3cr3t"}"#))
    #expect(error.description.contains(#"; the API says: APIFailure(message: "no item\n999, token=***"#))
    let long = String(repeating: "x", count: 5000)
    #expect(try await Self.failure(.answer(404, body: #"{"message":"\#(long)"}"#)).description.count < 400)
  }

  @Test("The line contains type and beginning of an HTML error page, and nothing of possibly personal JSON")
  func foreignBody() async throws {
    let refusal = try await Self.failure(.answer(500, fields: Self.page, body: "<h1>Oops</h1>"))
    #expect(refusal.description.contains("; the body is text/html, and begins with <h1>Oops</h1>"))
    let page = try await Self.failure(.answer(200, fields: Self.page, body: "<!DOCTYPE html>\n<p>Log in</p>"))
    #expect(page.description.contains(#"it is text/html, and begins with <!DOCTYPE html>\n<p>Log in</p> (status 200)"#))
    #expect(page.hint?.contains("in place of the API") == true)
    let token = try await Self.failure(.answer(200, fields: [.contentType: "text/plain"], body: "v2.Zx81"))
    #expect(token.description.contains("it is text/plain (status 200)") && !"\(token)".contains("Zx81"))
    for fields in [
      [.contentType: "application/problem+json"], [.contentType: "text/plain"], [:],
    ] as [HTTPFields] {
      for status in [200, 500] {
        let cut = try await Self.failure(.answer(status, fields: fields, body: #"{"name":"Ann"#))
        #expect(!cut.description.contains("Ann"))
      }
    }
  }

  @Test("localizedDescription is the line, for fetch errors and their causes")
  func localized() async throws {
    let error = try await Self.failure(.answer(404))
    #expect(error.localizedDescription == "\(error)")
    let parts: [any Error] = [
      ConfigurationError("m", hint: "h"), TransportError.cancelled(), FetchAndDecodeError<TestError>.cancelled,
      DecodeFailure(TestError(), payload: Data(), metadata: ()),
    ]
    for part in parts { #expect(part.localizedDescription == "\(part)") }
  }

  @Test("Query values that page or sort, and those that the request names, are shown; others are not")
  func query() async throws {
    var options = RequestOptions()
    options.shownQueryItems = ["item-kind", "token"]
    let url = "https://example.com/a?page=2&Per_Page=9&q=ann&item_kind=book&token=s3cr3t&sort=a%3Btoken%3Ds3cr3t"
    let error = try await Self.failure(.answer(404), url: url, options)
    let shown = "GET https://example.com/a?page=2&Per_Page=9&q=***&item_kind=book&token=***&sort=***"
    #expect(error.request == shown)
    #expect(error.ledger.request == shown)
    let long = try await Self.failure(
      .answer(404), url: "https://example.com/?page=\(String(repeating: "9", count: 65))")
    #expect(long.request == "GET https://example.com/?page=***")
    options.sensitiveQueryItems = ["page"]
    #expect(try await Self.failure(.answer(404), url: url, options).request?.contains("?page=***&") == true)
  }

  @Test("The numbers and flags of an S3 query are shown; its prefix and words without a value are not")
  func queryOfS3() async throws {
    let url = "https://example.com/b?list-type=2&max-keys=50&prefix=ann&partNumber=3&uploads&swordfish"
    let error = try await Self.failure(.answer(404), url: url)
    #expect(error.request == "GET https://example.com/b?list-type=2&max-keys=50&prefix=***&partNumber=3&uploads&***")
  }

  @Test("A timeout and a limit name the request")
  func place() async throws {
    for (stage, code) in [
      (FailureStage.timeout, FailureCode.idleTimeout), (.limit, .queueFull), (.resolve, .hostNotFound),
    ] {
      let error = try await Self.failure(.fail(stage, code))
      #expect(error.description.contains("; GET https://example.com/a"), "\(error)")
    }
  }

  @Test("If a server closes a plain connection, the hint mentions TLS on that port")
  func hungUp() async throws {
    for (url, isTold) in [("http://example.com/", true), ("https://example.com/", false)] {
      let error = try await Self.failure(.fail(.response, .connectionLost), url: url)
      #expect((error.hint?.contains("write https") == true) == isTold)
    }
  }
}
