// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting
import Testing

private struct User: Codable, Equatable {
  var name: String
}

private struct Problem: Codable, Error, Equatable {
  var code: String
}

private enum Shop: HTTPResourceEndpoint {
  case user(String)

  var baseURL: URL { URL(filePath: "/") }
  var path: String? { nil }
  func makeRequest() throws -> ResourceRequest {
    switch self {
    case .user(let name): try ResourceRequest(url: "https://shop.example/users/\(name.pathSegment)")
    }
  }
}

extension HTTPResource where Model == User, APIError == Problem {
  fileprivate static func user(_ name: String) -> Self { .init(Shop.user(name)) }
}

private enum UserService {
  static let ada = User(name: "ada")

  /// Responds to `/users/NAME` and to POST with a user, to `/echo` with the request's body, and to any other request
  /// with a problem.
  static func answer(_ request: LoopbackRequest) -> LoopbackResponse {
    switch request.pathSegments.first {
    case "users" where request.method == "POST": .json(request.text, status: 201)
    case "users": .json(#"{"name": "\#(request.pathSegments.last ?? "")"}"#)
    case "echo": LoopbackResponse(body: request.body)
    case "gone": .text("gone", status: 410).addingTrailer("Server-Timing", "db")
    default: .json(#"{"code": "unknown"}"#, status: 404)
    }
  }
}

@Suite("Fetches of a stack on the engine", .timeLimit(.minutes(15)))
struct StackFetchTests {
  private let server: LoopbackServer
  private let stack: CurlNetworkStack

  init() throws {
    server = try .http(respond: UserService.answer)
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    stack = try CurlNetworkStack(engine)
  }

  @Test("A declared endpoint returns its model")
  func declared() async throws {
    let stack = TransportNetworkStack(
      transport: ScriptedTransport([.expect(path: "/users/ada", then: .respond(status: 200, body: #"{"name":"ada"}"#))])
    )
    let user = try await stack.fetch(.user("ada")).value
    #expect(user == UserService.ada)
  }

  @Test("A GET of a URL returns the model of its caller, declared by type or by argument")
  func get() async throws {
    let url = server.baseURL + "/users/ada"
    let user: User = try await stack.fetch(.get(url)).value
    #expect(user == UserService.ada)
    #expect(try await stack.fetch(.get(url, as: User.self)).value == UserService.ada)
  }

  @Test("A failed GET carries the API's own error, or its text")
  func getWithError() async throws {
    let url = server.baseURL + "/nowhere"
    let failing = HTTPResource<User, Problem>.get(url)
    let error = await #expect(throws: HTTPFetchError<Problem>.self) { try await stack.fetch(failing) }
    #expect(error?.apiError == Problem(code: "unknown"))
    let text = await #expect(throws: HTTPFetchError<TextAPIError>.self) {
      try await stack.fetch(.get(url, as: User.self))
    }
    #expect(text?.apiError?.text == #"{"code": "unknown"}"#)
  }

  @Test("A POST of JSON sends Content-Type, and returns the model of the response")
  func post() async throws {
    let url = server.baseURL + "/users"
    let ada = UserService.ada
    let user: User = try await stack.fetch(.post(url, json: ada)).value
    #expect(user == ada)
    #expect(server.requests.last?.head["Content-Type"] == "application/json")
  }

  @Test("A fetch without a model returns bytes, and PUT sends a body")
  func bytes() async throws {
    let url = server.baseURL + "/users/ada"
    let bytes = try await stack.fetch(.get(url)).value
    #expect(bytes == Data(#"{"name": "ada"}"#.utf8))
    let put: User = try await stack.fetch(.send(.put, url, body: .json(UserService.ada))).value
    #expect(put == UserService.ada && server.requests.last?.method == "PUT")
  }

  @Test("HEAD returns the head of the response")
  func head() async throws {
    let url = server.baseURL + "/users/ada"
    let head = try await stack.fetch(.send(.head, url)).response
    #expect(head.status == .ok && server.requests.last?.method == "HEAD")
  }

  @Test("An exchange returns any status, with the facts and trailers of the whole transfer")
  func exchange() async throws {
    let request = try ResourceRequest(url: server.baseURL + "/gone")
    let answer = try await stack.exchange(request)
    #expect(answer.response.status == .gone && answer.value.bytes == Data("gone".utf8))
    let facts = answer.response.facts
    #expect(facts.bytesReceived == 4 && facts.timings.total > .zero)
    #expect(facts.trailers.map { "\($0.name): \($0.value)" } == ["Server-Timing: db"])
  }

  @Test("A time limit of a stack or of one call leaves the others at their defaults")
  func limits() throws {
    var configuration = StackConfiguration()
    configuration.timeouts.total = .seconds(30)
    #expect(configuration.timeouts.total == .seconds(30) && configuration.timeouts.connect == .seconds(10))
    var options = RequestOptions()
    options.timeouts = try Timeouts(total: .seconds(3))
    #expect(options.timeouts?.total == .seconds(3))
  }

  @Test("A bearer token goes to its origin only")
  func bearer() async throws {
    let origin = server.baseURL
    let token: Secret = "t0ken"
    var configuration = StackConfiguration()
    configuration.interceptors = [try .bearer(token, for: origin)]
    let stack = CurlNetworkStack(sharing: stack, configuration: configuration)
    _ = try await stack.fetch(.get(origin + "/echo"))
    #expect(server.requests.last?.head["Authorization"] == "Bearer t0ken")
    let other = try LoopbackServer.http(respond: UserService.answer)
    _ = try await stack.fetch(.get(other.baseURL + "/echo"))
    #expect(other.requests.last?.head["Authorization"] == nil)
  }

  @Test("An API key is sent in its header field")
  func apiKey() async throws {
    let origin = try Origin(server.baseURL)
    let key = try APIKeyAuthenticator("k3y", in: .header("X-API-Key"), origins: [origin])
    let stack = CurlNetworkStack(sharing: stack, configuration: StackConfiguration(interceptors: [key]))
    _ = try await stack.fetch(.get(server.baseURL + "/echo"))
    #expect(server.requests.last?.head["X-API-Key"] == "k3y")
  }

  @Test("The standard retries send a request again after 503")
  func retries() async throws {
    let transport = ScriptedTransport([.respond(status: 503), .respond(status: 200, body: "[1]")])
    var configuration = StackConfiguration()
    configuration.timeSource = ManualClock(autoAdvance: true).timeSource
    configuration.interceptors = [.retry]
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    #expect(try await stack.fetch(.get("https://api.example.org/")).value == Data("[1]".utf8))
    try transport.verify()
  }

  @Test("A PATCH with a generated key sends the Idempotency-Key of its ledger")
  func idempotent() async throws {
    let url = server.baseURL + "/users/ada"
    var change = HTTPResource<User, Problem>.send(.patch, url, body: try .json(UserService.ada))
    change.options.idempotency = .generatedKey
    let ledger = try await stack.fetch(change).response.ledger
    #expect(ledger.idempotencyKey != nil)
    #expect(server.requests.last?.head["Idempotency-Key"] == ledger.idempotencyKey)
  }

  @Test("A stream yields the body in chunks, or fails with the API's error")
  func stream() async throws {
    let url = server.baseURL + "/users/ada"
    var count = 0
    for try await chunk in try await stack.stream(.get(url)).value { count += chunk.count }
    #expect(count == 15)
    let body = try await stack.stream(ResourceRequest(url: url)).value
    #expect(try await body.collect(upTo: 100).count == 15)
    let error = await #expect(throws: HTTPFetchError<Problem>.self) {
      try await stack.stream(ResourceRequest(url: server.baseURL), errorDecoding: .json(Problem.self))
    }
    #expect(error?.apiError == Problem(code: "unknown"))
  }

  @Test("The file of an upload arrives complete")
  func upload() async throws {
    let url = server.baseURL + "/echo"
    let path = FileManager.default.temporaryDirectory.appending(path: "upload-\(server.port)").path()
    try Data("hello".utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let answer = try await stack.fetch(.send(.put, url, body: .file(path: path)))
    #expect(answer.value == Data("hello".utf8))
  }

  @Test("A scripted transport answers without a network")
  func scripted() async throws {
    let transport = ScriptedTransport([.respond(status: 200, body: "{}")])
    let stack = TransportNetworkStack(transport: transport)
    #expect(try await stack.fetch(.get("https://example.com/")).value == Data("{}".utf8))
    try transport.verify()
  }

  @Test("Stacks on one engine share its connections")
  func sharing() async throws {
    let other = CurlNetworkStack(sharing: stack)
    _ = try await stack.fetch(.get(server.baseURL + "/echo"))
    _ = try await other.fetch(.get(server.baseURL + "/echo"))
    #expect(server.acceptedConnections == 1)
  }

  @Test("Stacks with different base URLs share an engine and its connections")
  func sharingWithBaseURLs() async throws {
    let users = CurlNetworkStack(
      sharing: stack, configuration: StackConfiguration(baseURL: server.baseURL + "/users"))
    let echoes = CurlNetworkStack(
      sharing: users, configuration: StackConfiguration(baseURL: server.baseURL + "/echo"))
    _ = try await users.fetch(.get("/ada"))
    _ = try await echoes.fetch(.get("/again"))
    #expect(server.requests.map(\.target) == ["/users/ada", "/echo/again"] && server.acceptedConnections == 1)
  }
}
