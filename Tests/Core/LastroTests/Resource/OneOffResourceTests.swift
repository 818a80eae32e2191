// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Resources from a URL", .timeLimit(.minutes(15)))
struct OneOffResourceTests {
  struct Item: Codable, Equatable { var id: Int }
  struct Problem: Codable, Error, Equatable { var code: String }

  static func stack(_ steps: ScriptedTransport.Step...) -> (TransportNetworkStack, ScriptedTransport) {
    let transport = ScriptedTransport(steps)
    return (TransportNetworkStack(transport: transport), transport)
  }

  @Test("Query and header fields are added, percent-encoded and checked")
  func parts() async throws {
    let (stack, transport) = Self.stack(.respond(status: 200, body: #"{"id":1}"#))
    let item: Item = try await stack.fetch(
      .get("https://example.com/a?b=1", query: ["q": "x y&z", "flag": nil], headers: [.accept: "application/json"])
    ).value
    let head = try #require(transport.requests.first?.head)
    #expect(item == Item(id: 1) && head.path == "/a?b=1&q=x%20y%26z&flag")
    #expect(head.method == .get && head.headerFields[.accept] == "application/json")
  }

  @Test("A URL or a header field that cannot be sent fails the fetch with a typed error before anything is sent")
  func refused() async throws {
    let (stack, transport) = Self.stack()
    for resource in [
      HTTPResource<Item, Problem>.get("htps://example.com"), .get("https://example.com", headers: ["X": "a\r\nb"]),
    ] {
      let error = await #expect(throws: HTTPFetchError<Problem>.self) { try await stack.fetch(resource) }
      #expect(error?.stage == .request)
    }
    #expect(transport.requests.isEmpty)
  }

  @Test("A value is encoded for every attempt, and an encoding error fails the fetch")
  func encoding() async throws {
    struct Unencodable: Encodable {
      func encode(to encoder: any Encoder) throws { throw TestError(name: "no") }
    }
    let (stack, transport) = Self.stack(.respond(status: 503), .respond(status: 201, body: #"{"id":2}"#))
    var resource = HTTPResource<Item, Problem>.post("https://example.com/", json: Item(id: 2))
    resource.options.idempotency = .idempotent
    resource.interceptors = [RetryInterceptor(policy: .maxRetries(1))]
    #expect(try await stack.fetch(resource).value == Item(id: 2))
    #expect(transport.requests.map(\.body.contentType) == ["application/json", "application/json"])
    let bad = HTTPResource<Item, Problem>.post("https://example.com/", json: Unencodable())
    let error = await #expect(throws: HTTPFetchError<Problem>.self) { try await stack.fetch(bad) }
    guard case .noRequest(let cause)? = error?.reason else { throw TestFailure("not noRequest") }
    #expect(cause as? TestError == TestError(name: "no"))
  }

  @Test("Error responses decode as the API's error, or as text if no type is named")
  func errors() async throws {
    let body = #"{"code":"busy"}"#
    let (stack, _) = Self.stack(.respond(status: 409, body: body), .respond(status: 409, body: body))
    let typed = await #expect(throws: HTTPFetchError<Problem>.self) {
      try await stack.fetch(.get("https://example.com/", as: Item.self, or: Problem.self))
    }
    #expect(typed?.apiError == Problem(code: "busy"))
    let raw = await #expect(throws: HTTPFetchError<any Error>.self) {
      try await stack.fetch(.get("https://example.com/"))
    }
    #expect((raw?.apiError as? TextAPIError)?.text == body)
  }

  @Test("A synchronous closure makes the request on the call's own task, and an asynchronous one on a separate task")
  func waiting() {
    #expect(BaseRequestMaking { try ResourceRequest(url: "https://example.com/") }.makeAtOnce != nil)
    #expect(
      BaseRequestMaking {
        await Task.yield()
        return try ResourceRequest(url: "https://example.com/")
      }.makeAtOnce == nil)
    #expect(HTTPResource<Item, Problem>.get("https://example.com/").baseRequestMaking.makeAtOnce != nil)
  }

  @Test("A static bearer token is checked, and its explanation does not show it")
  func bearer() async throws {
    let interceptor = try StandardInterceptor.bearer("t0ken", for: "https://example.com")
    let token = try #require(interceptor.base as? APIKeyAuthenticator)
    #expect(token.explanation == "sends a bearer token" && token.origins.map(\.description) == ["https://example.com"])
    for (value, origin) in [
      ("", "https://a.example"), ("a b", "https://a.example"), ("a", "http://a.example"), ("a", "x"),
    ] {
      #expect(throws: ConfigurationError.self) { try StandardInterceptor.bearer(Secret(value), for: origin) }
    }
    #expect(throws: ConfigurationError.self) { try StandardInterceptor.bearer("a") }
  }
}
