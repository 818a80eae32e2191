// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Problem details (RFC 9457)", .timeLimit(.minutes(15)))
struct ProblemDetailsTests {
  private struct Shortage: Decodable, Equatable { let balance: Int, accounts: [String] }

  private func failure(
    _ body: String, type: String? = "application/problem+json"
  ) async throws -> HTTPFetchError<ProblemDetails> {
    var fields = HTTPFields()
    fields[.contentType] = type
    let stack = TransportNetworkStack(ScriptedTransport([.answer(403, fields: fields, body: body)]))
    let resource = HTTPResource<Model, ProblemDetails>.get(
      "https://api.example.org/v1/accounts", as: Model.self, or: ProblemDetails.self)
    return try await #require(throws: HTTPFetchError<ProblemDetails>.self) { _ = try await stack.fetch(resource) }
  }

  @Test("The RFC's example is decoded, shown on one line, and its extensions have a type")
  func example() async throws {
    let error = try await failure(
      """
      {"type": "https://example.com/probs/out-of-credit", "title": "You do not have enough credit.",
       "detail": "Your current balance is 30, but that costs 50.", "instance": "/account/12345/msgs/abc",
       "balance": 30, "accounts": ["/account/12345", "/account/67890"]}
      """)
    let problem = try #require(error.apiError)
    #expect(problem.type == "https://example.com/probs/out-of-credit")
    #expect(problem.instance == "/account/12345/msgs/abc")
    #expect(problem.status == nil)
    #expect(
      try problem.members() == Shortage(balance: 30, accounts: ["/account/12345", "/account/67890"]))
    #expect(
      "\(error)".contains(
        "the API says: You do not have enough credit.: Your current balance is 30, but that costs 50."))
  }

  @Test("The problems of a form are listed with their pointers, and entries that are no objects are ignored")
  func entries() async throws {
    let error = try await failure(
      """
      {"title": "Your request is not valid.", "errors": [
        {"detail": "must be a positive integer", "pointer": "#/age"}, 7, null, ["x"], {"detail": 3, "pointer": "#/b"}]}
      """)
    let problem = try #require(error.apiError)
    #expect(
      problem.errors == [
        .init(detail: "must be a positive integer", pointer: "#/age"), .init(detail: nil, pointer: "#/b"),
      ])
    #expect("\(problem)" == "Your request is not valid. [#/age must be a positive integer; #/b]")
  }

  @Test(
    "A member of the wrong type is ignored",
    arguments: [
      (#"{"type": 7, "title": [], "status": 403, "detail": null, "errors": {}}"#, "about:blank", 403),
      (#"{"type": "", "detail": "d", "status": "403"}"#, "about:blank", nil),
      (#"{"type": "urn:problem:x", "title": {}, "status": 403.5}"#, "urn:problem:x", nil),
      (#"{"type": "../problems#stock", "status": 1e99}"#, "../problems#stock", nil),
    ] as [(String, String, Int?)])
  func lenient(body: String, type: String, status: Int?) async throws {
    let problem = try #require(try await failure(body).apiError)
    #expect(problem.type == type && problem.status == status && problem.title == nil)
  }

  @Test(
    "JSON of another shape, and the page of a proxy, are no problems and do not hide the status",
    arguments: [
      ("application/json", #"{"message": "m"}"#), ("application/problem+json", "[]"), ("application/json", "{"),
      ("text/html", "<html>"),
    ])
  func others(type: String, body: String) async throws {
    let error = try await failure(body, type: type)
    #expect(error.apiError == nil && error.apiErrorDecodingFailure != nil)
    #expect(error.statusCode == .forbidden)
  }

  @Test("Extensions keep their values: integers of 64 bits, fractions, nested values")
  func extensions() async throws {
    struct Members: Decodable, Equatable { let id: UInt64, price: Double, nested: [String: [Bool?]] }
    let body = #"{"title": "t", "id": 18446744073709551615, "price": 0.1, "nested": {"a": [true, null, false]}}"#
    let problem = try #require(try await failure(body).apiError)
    #expect(
      try problem.members() == Members(id: .max, price: 0.1, nested: ["a": [true, nil, false]]))
    #expect(throws: DecodingError.self) { try ProblemDetails(title: "t").members(as: Members.self) }
  }

  @Test("Members have the API's names, and numbers of any size hide nothing")
  func names() async throws {
    struct Members: Decodable { let errorCode: Int, huge: Double }
    let body = #"{"title": "t", "error_code": 7, "huge": 1e200, "tiny": 1e-300, "endless": 1e999}"#
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    for isForStack in [true, false] {
      let problem = try (isForStack ? decoder : JSONDecoder()).decode(
        ProblemDetails.self, from: Data(#"{"title": "t", "error_code": 7, "huge": 1e200}"#.utf8))
      let members = try problem.members(as: Members.self, decoder: decoder)
      #expect(members.errorCode == 7 && members.huge == 1e200)
    }
    let error = try await failure(body)
    #expect(error.apiErrorDecodingFailure != nil || error.apiError?.title == "t")
  }

  @Test("A line shows no control characters and is bounded, and decoded problems equal those of tests")
  func lines() async throws {
    let long = String(repeating: "x", count: 2000)
    let problem = try #require(try await failure(#"{"title": "a\u000ab", "detail": "\#(long)", "extra": 1}"#).apiError)
    #expect("\(problem)".count <= 501 && !"\(problem)".contains("\n"))
    #expect(problem == ProblemDetails(title: "a\nb", detail: long))
    #expect(Set([problem, ProblemDetails(title: "a\nb", detail: long)]).count == 1)
  }

  @Test("A list of ten thousand problems is cut, and what is nested deeply is dropped")
  func hostile() async throws {
    let nested = String(repeating: "[", count: 300) + "1" + String(repeating: "]", count: 300)
    let wide = #"{"title": "t", "x": ["# + Array(repeating: nested, count: 50).joined(separator: ",") + "]}"
    #expect(try await failure(wide).apiError?.title == "t")
    let many = #"{"errors": ["# + Array(repeating: #"{"pointer": "/a"}"#, count: 10_000).joined(separator: ",") + "]}"
    #expect(try await failure(many).apiError?.errors.count == 1000)
    let deep = #"{"title": "# + String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000) + "}"
    #expect(try await failure(deep).statusCode == .forbidden)
  }
}
