// SPDX-License-Identifier: Apache-2.0

// The import is not @testable: this code is written as in applications.
import Foundation
import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

/// The values that a stack applies to all its calls: the base URL, header fields, JSON coders.
@Suite("Defaults of a stack", .timeLimit(.minutes(15)))
struct StackDefaultsTests {
  /// An endpoint from an API's enum, which tests do not change.
  private enum Shop: HTTPResourceEndpoint {
    case item(Int), root, elsewhere
    var baseURL: URL { URL(string: "https://shop.example/v1/?k=1") ?? URL(filePath: "/") }
    var path: String? { if case .item(let id) = self { "items/\(id)" } else { nil } }

    func makeRequest() throws -> ResourceRequest {
      if case .elsewhere = self { return try ResourceRequest(url: "https://other.example/v1/items") }
      var target = "https://shop.example/v1/"
      if case .item(let id) = self { target += "items/\(id)" }
      return try ResourceRequest(url: target + "?k=1")
    }
  }

  private struct Relative: HTTPResourceEndpoint {
    var path: String? { "items/1" }
    var queryItems: [URLQueryItem]? { [URLQueryItem(name: "page", value: "2")] }
    func addSecrets(to request: inout ResourceRequest) throws { try request.appendQueryItem("key", "s3cr3t") }
  }

  private struct Plain: HTTPResourceEndpoint {
    let base: String
    var path: String? = "users/1"
    var baseURL: URL { URL(string: base) ?? URL(filePath: "/") }
  }

  private static func url(
    of resource: HTTPResource<NoContent, APIFailure>, _ configure: (inout StackConfiguration) -> Void
  ) async throws -> String {
    let transport = ScriptedTransport(repeatingLast: .answer(204))
    _ = try await TransportNetworkStack(transport, configure: configure).fetch(resource)
    let head = try #require(transport.requests.first?.head)
    return "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")"
  }

  @Test("The base URL replaces an endpoint's, however many slashes meet")
  func baseURL() async throws {
    for (base, own, path, expected) in [
      ("http://127.0.0.1:81", "https://a.example", "users/1", "http://127.0.0.1:81/users/1"),
      ("http://127.0.0.1:81/", "https://a.example/v1", "users/1", "http://127.0.0.1:81/users/1"),
      ("http://127.0.0.1:81/v2/", "https://a.example/v1//", "/users/1", "http://127.0.0.1:81/v2/users/1"),
      ("https://b.example/v2", "https://a.example/v1", nil, "https://b.example/v2"),
      ("https://b.example/v2/", "https://a.example/v1?k=1", nil, "https://b.example/v2/?k=1"),
      ("https://b.example", "https://a.example", nil, "https://b.example/"),
    ] as [(String, String, String?, String)] {
      let resource = HTTPResource<NoContent, APIFailure>(Plain(base: own, path: path))
      #expect(try await Self.url(of: resource) { $0.baseURL = base } == expected)
      #expect(try await Self.url(of: resource) { _ in }.hasPrefix("https://a.example/"))
    }
    let own = try await Self.url(of: .init(Shop.item(7))) { $0.baseURL = "http://localhost:81" }
    #expect(own == "http://localhost:81/items/7?k=1")
    #expect(try await Self.url(of: .init(Shop.root)) { $0.baseURL = "http://localhost" } == "http://localhost/?k=1")
  }

  @Test("Endpoints without a base, and URLs with a leading slash, are below the stack's base; other URLs are unchanged")
  func relative() async throws {
    let base = { @Sendable (configuration: inout StackConfiguration) in configuration.baseURL = "https://b.example/v2" }
    let endpoint = try await Self.url(of: .init(Relative()), base)
    #expect(endpoint == "https://b.example/v2/items/1?page=2&key=s3cr3t")
    #expect(try await Self.url(of: .get("/me", query: ["a": "b"]), base) == "https://b.example/v2/me?a=b")
    #expect(try await Self.url(of: .get("https://c.example/me"), base) == "https://c.example/me")
    let stack = TransportNetworkStack(ScriptedTransport()) { $0.baseURL = "https://b.example/v2" }
    let plan = await stack.explanation(of: HTTPResource<NoContent, APIFailure>(Relative()))
    #expect(plan.request == "GET https://b.example/v2/items/1?page=2&key=***" && plan.refusal == nil)
  }

  @Test("Parts that cannot be combined are refused, and nothing is sent")
  func refusals() async throws {
    for (base, resource, words) in [
      (nil, .init(Relative()), "the stack has none (set StackConfiguration.baseURL"),
      (nil, .get("/me"), "the stack has none (set StackConfiguration.baseURL"),
      ("b.example", .init(Relative()), "no scheme"),
      ("https://b.example?x=1", .init(Relative()), "StackConfiguration.baseURL cannot be used: it has a query"),
      ("https://b.example", .init(Shop.elsewhere), "not below the endpoint's base URL"),
      ("https://b.example", .get("//c.example/me"), "no scheme"),
    ] as [(String?, HTTPResource<NoContent, APIFailure>, String)] {
      let transport = ScriptedTransport(repeatingLast: .answer(204))
      let error = try await TransportNetworkStack(transport) { $0.baseURL = base }.failure(of: resource)
      #expect(error.description.contains(words) && error.code == .invalidURL, "\(error)")
      #expect(transport.requests.isEmpty)
    }
  }

  @Test("Default header fields are added if the request has none of that name; secret ones are refused")
  func headers() async throws {
    for (own, expected) in [([:], "application/json"), ([.accept: "text/csv"], "text/csv")] as [(RawHeaders, String)] {
      let transport = ScriptedTransport(repeatingLast: .answer(204))
      let stack = TransportNetworkStack(transport) { $0.headers = ["accept": "application/json", "X-Tenant": "a"] }
      _ = try await stack.fetch(HTTPResource<NoContent, APIFailure>.get("https://a.example/", headers: own))
      #expect(transport.requests.first?.head.headerFields[values: .accept] == [expected])
      #expect(transport.requests.first?.head.headerFields[HTTPField.Name("X-Tenant") ?? .accept] == "a")
    }
    let transport = ScriptedTransport(repeatingLast: .answer(204))
    let stack = TransportNetworkStack(transport) {
      $0.headers = ["Content-Type": "application/json", "Prefer": "a", "prefer": "b"]
    }
    let url = "https://a.example/"
    _ = try await stack.fetch(HTTPResource<NoContent, APIFailure>.get(url))
    _ = try await stack.fetch(HTTPResource<NoContent, APIFailure>.send(.post, url, body: .form(["a": "b"])))
    _ = try await stack.fetch(HTTPResource<NoContent, APIFailure>.send(.post, url, body: .raw("{}")))
    let sent = transport.requests.map(\.head.headerFields)
    #expect(sent.map { $0[.contentType] } == [nil, "application/x-www-form-urlencoded", "text/plain; charset=utf-8"])
    #expect(sent.allSatisfy { $0[values: HTTPField.Name("Prefer") ?? .accept] == ["a", "b"] })
    for fields in [[.authorization: "Bearer s3cr3t"], ["X-Api-Key": "s3cr3t"], ["a b": "c"]] as [RawHeaders] {
      let stack = TransportNetworkStack(ScriptedTransport()) { $0.headers = fields }
      let error = try await stack.failure(of: HTTPResource<NoContent, APIFailure>.get("https://a.example/"))
      #expect(error.code == .invalidHeader && error.hint != nil && !"\(error)".contains("s3cr3t"), "\(error)")
    }
  }

  private struct Dated: Codable, Equatable {
    var madeAt: Date
  }
  private struct DatedError: Error, Codable, Equatable {
    var madeAt: Date
  }

  @Test("JSON uses the stack's coders unless a resource names its own")
  func coders() async throws {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    decoder.dateDecodingStrategy = .secondsSince1970
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    encoder.dateEncodingStrategy = .secondsSince1970
    let body = #"{"made_at":7}"#
    let transport = ScriptedTransport([
      .answer(200, body: body), .answer(200, body: body), .answer(400, body: body), .answer(200, body: body),
      .answer(200, body: #"{"madeAt":7}"#),
    ])
    let stack = TransportNetworkStack(transport) {
      $0.jsonDecoder = decoder
      $0.jsonEncoder = encoder
    }
    let dated = Dated(madeAt: Date(timeIntervalSince1970: 7))
    let url = "https://a.example/"
    #expect(try await stack.fetch(.get(url, as: Dated.self)).value == dated)
    #expect(try await stack.fetch(.post(url, json: dated, as: Dated.self)).value == dated)
    #expect(transport.requests.last?.body.length == Int64(body.utf8.count))
    let error = try await stack.failure(of: .get(url, as: Dated.self, or: DatedError.self))
    #expect(error.apiError?.madeAt == dated.madeAt)
    #expect(try await stack.fetchAndDecode(.get(url), decoding: .json(Dated.self)).value == dated)
    let other = try await stack.fetch(.get(url, as: Dated.self, decoder: JSONDecoder())).value
    #expect(other.madeAt == Date(timeIntervalSinceReferenceDate: 7))
  }
}
