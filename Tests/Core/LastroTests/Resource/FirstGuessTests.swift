// SPDX-License-Identifier: Apache-2.0

// The import is not @testable: this code is written as in applications.
import Foundation
import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

/// The forms that people write first. Each compiles, and sends the request that it says.
@Suite("First guesses at the API", .timeLimit(.minutes(15)))
struct FirstGuessTests {
  private struct User: Codable, Sendable, Equatable { var name: String }
  private static let url = "https://api.example/users"
  private static let ann = Data(#"{"name":"ann"}"#.utf8)

  private let transport = ScriptedTransport(repeatingLast: .respond(status: .ok, body: Self.ann))
  private var stack: TransportNetworkStack { TransportNetworkStack(transport) }

  private var sent: [String] {
    get async throws {
      var lines: [String] = []
      for request in transport.requests {
        let body = if case .bytes(let data) = request.body.source { String(decoding: data, as: UTF8.self) } else { "" }
        lines.append("\(request.head.method) \(request.head.path ?? "") \(body)".trimmingCharacters(in: .whitespaces))
      }
      return lines
    }
  }

  @Test("Each method has a form for a JSON model, and one for the bytes")
  func methods() async throws {
    let user = User(name: "ann")
    let got: User = try await stack.fetch(.get(Self.url)).value
    #expect(got == user)
    #expect(try await stack.fetch(.put(Self.url, json: user, as: User.self)).value == user)
    #expect(try await stack.fetch(.patch(Self.url, json: user, as: User.self)).value == user)
    #expect(try await stack.fetch(.post(Self.url, json: user, as: User.self)).value == user)
    #expect(try await stack.fetch(.delete(Self.url, as: User.self)).value == user)
    #expect(try await stack.fetch(.put(Self.url, json: user)).value == Self.ann)
    #expect(try await stack.fetch(.delete(Self.url)).value == Self.ann)
    #expect(try await stack.fetch(.head(Self.url)).response.status == .ok)
    #expect(try await stack.fetch(.text(Self.url)).value == #"{"name":"ann"}"#)
    let json = #"{"name":"ann"}"#
    #expect(
      try await sent == [
        "GET /users", "PUT /users \(json)", "PATCH /users \(json)", "POST /users \(json)", "DELETE /users",
        "PUT /users \(json)", "DELETE /users", "HEAD /users", "GET /users",
      ])
  }

  @Test("A URL and a literal query are taken as they are; values known at run time are wrapped in the parameter's type")
  func values() async throws {
    let url = try #require(URL(string: Self.url))
    let missing: String? = nil
    _ = try await stack.fetch(.get(url))
    _ = try await stack.fetch(.get(url, query: ["page": 2, "q": "a b", "deep": true, "flag": missing]))
    _ = try await stack.fetch(.get(url, query: QueryItems(["b": "2", "a": "1"])))
    _ = try await stack.fetch(.get(url, query: QueryItems([1, 2].map { ("id", "\($0)") })))
    let pairs = [("c", "3"), ("b", "4")]
    _ = try await stack.fetch(.get(url, query: QueryItems(pairs)))
    _ = try await stack.fetch(.get(url, headers: RawHeaders([("X-D", "4"), ("X-C", "3")])))
    _ = try await stack.fetch(.get(url, headers: RawHeaders(["X-B": "2", "X-A": "1"])))
    #expect(
      try await sent == [
        "GET /users", "GET /users?page=2&q=a%20b&deep=true&flag", "GET /users?a=1&b=2", "GET /users?id=1&id=2",
        "GET /users?c=3&b=4", "GET /users", "GET /users",
      ])
    let names = transport.requests.suffix(2).map { $0.head.headerFields.map(\.name.rawName) }
    #expect(names.map { $0.filter { $0.hasPrefix("X-") } } == [["X-D", "X-C"], ["X-A", "X-B"]])
    #expect(try ResourceRequest(url: url).head.path == "/users")
    #expect(try ResourceRequest(method: "QUERY", url: url).head.method.rawValue == "QUERY")
    #expect(throws: TransportError.self) { try ResourceRequest(method: "NO WORD", url: url) }
  }

  @Test("A body may use a variable that is changed later, and its error fails the fetch")
  func bodies() async throws {
    var text = "one"
    _ = try await stack.fetch(.send(.post, Self.url, body: .raw(text)))
    text = "two"
    _ = try await stack.fetch(.send(.post, Self.url, body: .raw(text)))
    _ = try await stack.fetch(.send(.post, Self.url, body: "\(text) and three"))
    #expect(try await sent == ["POST /users one", "POST /users two", "POST /users two and three"])
    #expect(transport.requests.last?.body.contentType == "text/plain; charset=utf-8")
    do {
      _ = try await stack.fetch(.send(.put, Self.url, body: .file(path: "/no/such/file")))
      Issue.record("a body without a file was sent")
    } catch {
      // Without a cast: the error has the fetch's type.
      #expect(error.code == .invalidBody && error.ledger.attempts.count == 1)
    }
  }

  @Test("A field of a response is read by its name as text, in any case")
  func fields() async throws {
    let transport = ScriptedTransport([.respond(status: .ok, headers: [.eTag: "\"1\""])])
    let response = try await TransportNetworkStack(transport).fetch(.get(Self.url)).response
    #expect(response.headers["etag"] == "\"1\"")
    #expect(response.headers["ETag"] == response.headerFields[.eTag])
  }

  @Test("A JSON body that was made outside the call is written by the encoder of the stack")
  func encoder() async throws {
    struct Made: Encodable, Sendable { var madeAt = 7 }
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    let stack = TransportNetworkStack(transport) { $0.jsonEncoder = encoder }
    let body = try RequestBody.json(Made())
    let own = try RequestBody.json(Made(), encoder: JSONEncoder())
    _ = try await stack.fetch(.send(.post, Self.url, body: body))
    _ = try await stack.fetch(.send(.post, Self.url, body: try .json(Made())))
    _ = try await stack.fetch(.post(Self.url, json: Made()))
    _ = try await stack.fetch(.send(.post, Self.url, body: own))
    _ = try await self.stack.fetch(.send(.post, Self.url, body: body))
    let (snake, camel) = (#"POST /users {"made_at":7}"#, #"POST /users {"madeAt":7}"#)
    #expect(try await sent == [snake, snake, snake, camel, camel])
  }

  private struct Stamp: HTTPResourceInterceptor {
    func adapt(_ request: inout ResourceRequest, context: AttemptContext) async throws {
      try request.setHeader("X-Stamp", "\(context.attempt)")
    }
  }

  private struct Refusing: HTTPResourceInterceptor {
    struct Refusal: Error {}
    func adapt(_ request: inout ResourceRequest, context: AttemptContext) async throws { throw Refusal() }
  }

  @Test("An interceptor changes a request in place, and its error fails the fetch before anything is sent")
  func interceptors() async throws {
    let configuration = StackConfiguration(
      baseURL: "https://api.example", interceptors: [Stamp(), .retry, .retry(.maxRetries(1))])
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    for _ in 0..<2 { _ = try await stack.fetch(.get("/users")) }
    let name = try #require(HTTPField.Name("X-Stamp"))
    #expect(transport.requests.map { $0.head.headerFields[name] } == ["1", "1"])
    let refusing = TransportNetworkStack(transport) { $0.interceptors = [Refusing()] }
    let error = try await refusing.failure(of: RawHTTPResource.get(Self.url))
    guard case .noRequest(let cause) = error.reason else { throw TestFailure("\(error)") }
    #expect(cause is Refusing.Refusal)
    #expect(transport.requests.count == 2)
  }

  @Test("Options of one call are made in one expression")
  func options() throws {
    let options = RequestOptions(operation: "list", timeouts: .streaming, idempotency: .idempotent)
    #expect(options.operation == "list" && options.timeouts != nil && options.idempotency == .idempotent)
  }
}
