// SPDX-License-Identifier: Apache-2.0

// The import is not @testable: this code is written as in applications.
import Foundation
import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

private struct Repository: Decodable, Equatable, Sendable { var name: String }
private struct User: Decodable, Equatable, Sendable { var login: String }
private struct GitHubError: Error, Decodable, Equatable { var message: String }

private enum GitHub: HTTPResourceEndpoint {
  case repository(owner: String, name: String)
  case user(String)
  case star(owner: String, name: String)

  var method: HTTPRequest.Method {
    switch self {
    case .star: .put
    default: .get
    }
  }
  var baseURL: URL { URL(string: "https://api.example.com") ?? URL(filePath: "/") }
  var path: String? {
    switch self {
    case .repository(let owner, let name): "/repos/\(owner)/\(name)"
    case .user(let name): "/users/\(name)"
    case .star(let owner, let name): "/user/starred/\(owner)/\(name)"
    }
  }
}

extension HTTPResource where Model == Repository, APIError == GitHubError {
  fileprivate static func repository(_ owner: String, _ name: String) -> Self {
    .init(GitHub.repository(owner: owner, name: name))
  }
}

extension HTTPResource where Model == User, APIError == GitHubError {
  fileprivate static func user(_ name: String) -> Self { .init(GitHub.user(name)) }
}

extension HTTPResource where Model == NoContent, APIError == GitHubError {
  fileprivate static func star(_ owner: String, _ name: String) -> Self { .init(GitHub.star(owner: owner, name: name)) }
}

extension HTTPResource where Model == Int, APIError == GitHubError {
  fileprivate static func readmeLength(_ owner: String, _ name: String) -> Self {
    .init(GitHub.repository(owner: owner, name: name), decoding: HTTPModelDecoding<String>.text.map(\.count))
  }
}

@Suite("Typed calls", .timeLimit(.minutes(15)))
struct TypedResourceTests {
  private let github = TransportNetworkStack(
    transport: ScriptedTransport { (request, _) throws(TransportError) in
      let (status, body) =
        switch request.head.path {
        case "/repos/apple/swift": (200, #"{"name":"swift"}"#)
        case "/users/ada": (200, #"{"login":"ada"}"#)
        case "/user/starred/apple/swift": (204, "")
        default: (404, #"{"message":"Not Found"}"#)
        }
      return TransferResponse(
        head: HTTPResponse(status: .init(code: status)), body: ResponseBody(Data(body.utf8)))
    })

  @Test("Static factories are found by their model and return model and response")
  func factories() async throws {
    let repository = try await github.fetch(.repository("apple", "swift"))
    #expect(repository.value == Repository(name: "swift"))
    #expect(repository.response.status == .ok)
    #expect(repository.response.url == "https://api.example.com/repos/apple/swift")
    #expect(try await github.fetch(.user("ada")).value.login == "ada")
    #expect(try await github.fetch(.star("apple", "swift")).value == NoContent())
    #expect(try await github.fetch(.readmeLength("apple", "swift")).value == 16)
  }

  @Test("The API's error is typed")
  func typedError() async {
    do throws(HTTPFetchError<GitHubError>) {
      _ = try await github.fetch(.user("nobody"))
      Issue.record("a 404 must fail")
    } catch {
      #expect(error.apiError == GitHubError(message: "Not Found"))
      #expect(error.apiError?.message == "Not Found")
      #expect(error.statusCode == .notFound)
    }
  }

  @Test("Typed calls work through an existential stack")
  func existential() async throws {
    let stack: any HTTPNetworkStack = github
    #expect(try await stack.fetch(.repository("apple", "swift")).value.name == "swift")
    let raw = try await stack.fetch(.raw(GitHub.user("ada")))
    #expect(String(decoding: raw.value, as: UTF8.self) == #"{"login":"ada"}"#)
    let error = await #expect(throws: HTTPFetchError<GitHubError>.self) {
      try await stack.fetch(.user("nobody"))
    }
    #expect(error?.apiError?.message == "Not Found")
  }

  @Test("Bytes, and decoded bytes, are returned")
  func rawAndDecoded() async throws {
    let user = try await github.fetchAndDecode(.raw(GitHub.user("ada")), decoding: .json(User.self))
    #expect(user.value == User(login: "ada"))
    let same = try await github.fetchAndDecode(HTTPResource.user("ada").raw, decoding: .json(User.self))
    #expect(same.value == user.value)
  }

  @Test("A stream of the same call is returned")
  func stream() async throws {
    let stream = try await github.stream(.user("ada"))
    #expect(String(decoding: try await stream.value.collect(upTo: 100), as: UTF8.self) == #"{"login":"ada"}"#)
    let error = await #expect(throws: HTTPFetchError<GitHubError>.self) { try await github.stream(.user("nobody")) }
    #expect(error?.apiError?.message == "Not Found")
  }

  @Test("Callback forms work, raw and typed, on the stack and on the existential")
  func callbacks() async throws {
    let stack: any HTTPNetworkStack = github
    let raw = await withCheckedContinuation { continuation in
      github.fetch(.raw(GitHub.user("ada"))) { continuation.resume(returning: $0) }
    }
    #expect(try raw.get().value == Data(#"{"login":"ada"}"#.utf8))
    let typed = await withCheckedContinuation { continuation in
      stack.fetch(.user("ada")) { continuation.resume(returning: $0) }
    }
    #expect(try typed.get().value.login == "ada")
    let failed = await withCheckedContinuation { continuation in
      github.fetch(.user("nobody")) { continuation.resume(returning: $0) }
    }
    let error = #expect(throws: HTTPFetchError<GitHubError>.self) { try failed.get() }
    #expect(error?.apiError?.message == "Not Found")
  }
}
