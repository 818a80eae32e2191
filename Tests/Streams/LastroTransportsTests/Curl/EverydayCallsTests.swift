// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting
import Testing

// What a user writes most, each as short as it is in the shortest of Alamofire 5, OkHttp 5, Get and AsyncHTTPClient,
// which stands below it as a comment. `CallLengthTests` counts.
//
// The client exists on all sides (`stack`, `client`), and so does its configuration where a call is about that.

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

private enum EverydayCalls {
  static let ada = User(name: "ada")

  /// `/users/NAME` and POST answer with a user, `/echo` with what the request was; others with a problem.
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

@Suite("Everyday calls", .timeLimit(.minutes(5)))
struct EverydayCallsTests {
  private let server: LoopbackServer
  private let stack: CurlNetworkStack

  init() throws {
    server = try .http(respond: EverydayCalls.answer)
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    stack = try CurlNetworkStack(engine)
  }

  @Test("a declared GET")
  func declared() async throws {
    let stack = TransportNetworkStack(
      transport: ScriptedTransport([.expect(path: "/users/ada", then: .respond(status: 200, body: #"{"name":"ada"}"#))])
    )
    // call: a declared GET
    let user = try await stack.fetch(.user("ada")).value
    // Get: let user = try await client.send(API.user("ada")).value
    // end
    #expect(user == EverydayCalls.ada)
  }

  @Test("a one-off typed GET")
  func get() async throws {
    let url = server.baseURL + "/users/ada"
    // call: a one-off typed GET
    let user: User = try await stack.fetch(.get(url)).value
    // Get: let user: User = try await client.send(.get(url)).value
    // Alamofire: let user = try await AF.request(url).serializingDecodable(User.self).value
    // end
    #expect(user == EverydayCalls.ada)
    #expect(try await stack.fetch(.get(url, as: User.self)).value == EverydayCalls.ada)
  }

  @Test("a one-off GET with the API's own error")
  func getWithError() async throws {
    let url = server.baseURL + "/nowhere"
    // call: a one-off GET with a typed error (the others have none)
    let failing = HTTPResource<User, Problem>.get(url)
    // end
    let error = await #expect(throws: HTTPFetchError<Problem>.self) { try await stack.fetch(failing) }
    #expect(error?.apiError == Problem(code: "unknown"))
    let text = await #expect(throws: HTTPFetchError<TextAPIError>.self) {
      try await stack.fetch(.get(url, as: User.self))
    }
    #expect(text?.apiError?.text == #"{"code": "unknown"}"#)
  }

  @Test("a one-off POST of JSON")
  func post() async throws {
    let url = server.baseURL + "/users"
    let ada = EverydayCalls.ada
    // call: a one-off POST of JSON
    let user: User = try await stack.fetch(.post(url, json: ada)).value
    // Get: let user: User = try await client.send(.post(url, body: ada)).value
    // end
    #expect(user == ada)
    #expect(server.requests.last?.head["Content-Type"] == "application/json")
  }

  @Test("a PUT, and bytes")
  func bytes() async throws {
    let url = server.baseURL + "/users/ada"
    // call: bytes
    let bytes = try await stack.fetch(.get(url)).value
    // Alamofire: let bytes = try await AF.request(url).serializingData().value
    // end
    #expect(bytes == Data(#"{"name": "ada"}"#.utf8))
    let put: User = try await stack.fetch(.send(.put, url, body: .json(EverydayCalls.ada))).value
    #expect(put == EverydayCalls.ada && server.requests.last?.method == "PUT")
  }

  @Test("HEAD")
  func head() async throws {
    let url = server.baseURL + "/users/ada"
    // call: HEAD
    let head = try await stack.fetch(.send(.head, url)).response
    // OkHttp: val head = client.newCall(Request.Builder().url(url).head().build()).execute()
    // end
    #expect(head.status == .ok && server.requests.last?.method == "HEAD")
  }

  @Test("an answer whatever its status, with the facts of its whole transfer")
  func exchange() async throws {
    let request = try ResourceRequest(url: server.baseURL + "/gone")
    // call: an answer whatever its status
    let answer = try await stack.exchange(request)
    // AsyncHTTPClient: let answer = try await client.execute(request, timeout: .seconds(30))
    // end
    #expect(answer.response.status == .gone && answer.value.bytes == Data("gone".utf8))
    let facts = answer.response.facts
    #expect(facts.bytesReceived == 4 && facts.timings.total > .zero)
    #expect(facts.trailers.map { "\($0.name): \($0.value)" } == ["Server-Timing: db"])
  }

  @Test("time limits of a stack, and of one call")
  func limits() throws {
    var configuration = StackConfiguration()
    // call: a time limit for all calls
    configuration.timeouts.total = .seconds(30)
    // OkHttp: builder.callTimeout(30, TimeUnit.SECONDS)
    // end
    #expect(configuration.timeouts.total == .seconds(30) && configuration.timeouts.connect == .seconds(10))
    var options = RequestOptions()
    // call: a time limit for one call
    options.timeouts = try Timeouts(total: .seconds(3))
    // Alamofire: let request = AF.request(url) { $0.timeoutInterval = 3 }
    // end
    #expect(options.timeouts?.total == .seconds(3))
  }

  @Test("a bearer token that does not change, bound to its origin")
  func bearer() async throws {
    let origin = server.baseURL
    let token: Secret = "t0ken"
    var configuration = StackConfiguration()
    // call: a bearer token, for its origin alone
    configuration.interceptors = [try .bearer(token, for: origin)]
    // Alamofire: AF.request(url, headers: [.authorization(bearerToken: token)])
    // end
    let stack = CurlNetworkStack(sharing: stack, configuration: configuration)
    _ = try await stack.fetch(.get(origin + "/echo"))
    #expect(server.requests.last?.head["Authorization"] == "Bearer t0ken")
    let other = try LoopbackServer.http(respond: EverydayCalls.answer)
    _ = try await stack.fetch(.get(other.baseURL + "/echo"))
    #expect(other.requests.last?.head["Authorization"] == nil)
  }

  @Test("an API key")
  func apiKey() async throws {
    let origin = try Origin(server.baseURL)
    // call: an API key, for its origin alone (the others send it wherever the header is written)
    let key = try APIKeyAuthenticator("k3y", in: .header("X-API-Key"), origins: [origin])
    // end
    let stack = CurlNetworkStack(sharing: stack, configuration: StackConfiguration(interceptors: [key]))
    _ = try await stack.fetch(.get(server.baseURL + "/echo"))
    #expect(server.requests.last?.head["X-API-Key"] == "k3y")
  }

  @Test("the usual retries")
  func retries() {
    var configuration = StackConfiguration()
    // call: the usual retries
    configuration.interceptors = [RetryInterceptor.standard]
    // Alamofire: AF.request(url, interceptor: .retryPolicy)
    // end
    #expect(configuration.interceptors.count == 1)
  }

  @Test("a PATCH that may be repeated")
  func idempotent() async throws {
    let url = server.baseURL + "/users/ada"
    // call: a PATCH with an Idempotency-Key that all its attempts carry (the others have none)
    var change = HTTPResource<User, Problem>.send(.patch, url, body: try .json(EverydayCalls.ada))
    change.options.idempotency = .generatedKey
    // end
    let ledger = try await stack.fetch(change).response.ledger
    #expect(ledger.idempotencyKey != nil)
    #expect(server.requests.last?.head["Idempotency-Key"] == ledger.idempotencyKey)
  }

  @Test("a stream, without a model")
  func stream() async throws {
    let url = server.baseURL + "/users/ada"
    var count = 0
    // call: a stream
    for try await chunk in try await stack.stream(.get(url)).value { count += chunk.count }
    // Alamofire: for await event in AF.streamRequest(url).streamTask().streamingData() { if let chunk = event.value {
    //   count += chunk.count } }
    // end
    #expect(count == 15)
    let body = try await stack.stream(ResourceRequest(url: url)).value
    #expect(try await body.collect(upTo: 100).count == 15)
    let error = await #expect(throws: HTTPFetchError<Problem>.self) {
      try await stack.stream(ResourceRequest(url: server.baseURL), errorDecoding: .json(Problem.self))
    }
    #expect(error?.apiError == Problem(code: "unknown"))
  }

  @Test("the upload of a file")
  func upload() async throws {
    let url = server.baseURL + "/echo"
    let path = FileManager.default.temporaryDirectory.appending(path: "upload-\(server.port)").path()
    try Data("hello".utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    // call: the upload of a file
    let answer = try await stack.fetch(.send(.put, url, body: .file(path: path)))
    // OkHttp: val answer = client.newCall(Request.Builder().url(url).put(file.asRequestBody()).build()).execute()
    // Alamofire: let answer = try await AF.upload(file, to: url, method: .put).serializingData().value
    // end
    #expect(answer.value == Data("hello".utf8))
  }

  @Test("a test without a network")
  func scripted() async throws {
    // call: a scripted answer
    let transport = ScriptedTransport([.respond(status: 200, body: "{}")])
    // OkHttp: val server = MockWebServer(); server.enqueue(MockResponse().setBody("{}"))
    // end
    let stack = TransportNetworkStack(transport: transport)
    #expect(try await stack.fetch(.get("https://example.com/")).value == Data("{}".utf8))
    try transport.verify()
  }

  @Test("several stacks on one engine")
  func sharing() async throws {
    // call: another stack on the same connections
    let other = CurlNetworkStack(sharing: stack)
    // OkHttp: val other = client.newBuilder().build()
    // end
    _ = try await stack.fetch(.get(server.baseURL + "/echo"))
    _ = try await other.fetch(.get(server.baseURL + "/echo"))
    #expect(server.acceptedConnections == 1)
  }
}
