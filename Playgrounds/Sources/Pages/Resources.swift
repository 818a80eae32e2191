// SPDX-License-Identifier: Apache-2.0
// The URL is a valid literal, so unwrapping it cannot fail.
// swift-format-ignore-file: NeverForceUnwrap

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroTesting

private func oneOff(_ github: any HTTPNetworkStack) async throws -> User {
  // sample: one-off
  let user: User = try await github.fetch(.get("https://api.github.com/users/octocat")).value
  let answer = try await github.fetch(
    .get("https://api.github.com/users/octocat", as: User.self, or: GitHubError.self))
  // end
  return answer.value.login == user.login ? user : answer.value
}

private struct NewRepository: Encodable, Sendable {
  let name: String
}

private func methods(
  _ github: any HTTPNetworkStack, owner: String, name: String, names: [String]
) async throws -> (Repository, [Repository], Data) {
  // sample: methods
  let created = try await github.fetch(
    .post("/user/repos", json: NewRepository(name: name), as: Repository.self)
  ).value
  let found = try await github.fetch(
    .get("/search", query: ["q": name, "page": 2, "archived": nil], as: [Repository].self)
  ).value
  let several = try await github.fetch(.get("/search", query: QueryItems(names.map { ("q", $0) }))).value
  _ = try await github.fetch(.delete("/repos/\(owner.pathSegment)/\(name.pathSegment)"))
  // end
  return (created, found, several)
}

// sample: post
struct NewIssue: Encodable, Sendable {
  let title: String
}

enum Issues: HTTPResourceEndpoint {
  case create(owner: String, repository: String, NewIssue)
  case close(owner: String, repository: String, number: Int)

  var baseURL: URL { URL(string: "https://api.github.com/repos")! }

  var method: HTTPRequest.Method {
    switch self {
    case .create: .post
    case .close: .patch
    }
  }

  var path: String? {
    switch self {
    case .create(let owner, let repository, _): "\(owner.pathSegment)/\(repository.pathSegment)/issues"
    case .close(let owner, let repository, let number):
      "\(owner.pathSegment)/\(repository.pathSegment)/issues/\(number)"
    }
  }

  func makeBody() throws -> RequestBody? {
    switch self {
    case .create(_, _, let issue): try .json(issue)
    case .close: .form(["state": "closed"])
    }
  }
}
// end

// sample: decodings
extension HTTPResource where Model == String, APIError == GitHubError {
  /// Text instead of JSON.
  static var zen: Self { .init(GitHub.user(login: "octocat"), decoding: .text) }
}

extension HTTPResource where Model == Int, APIError == GitHubError {
  /// Another model made of a decoded one.
  static func forks(of owner: String) -> Self {
    .init(
      GitHub.repositories(owner: owner, perPage: 100),
      decoding: ModelDecoding.json([Repository].self).map { repositories in repositories.reduce(0) { $0 + $1.forks } })
  }
}

extension HTTPResource where Model == NoContent, APIError == GitHubError {
  /// Nothing but the status matters.
  static func close(_ number: Int, of repository: String, owner: String) -> Self {
    .init(Issues.close(owner: owner, repository: repository, number: number), decoding: .empty)
  }
}
// end

// sample: next page
extension HTTPResource where Model == [Repository], APIError == GitHubError {
  /// A page whose whole URL the server gave, in a `Link` header field.
  static func page(_ url: String) -> Self {
    .get(url)
  }
}
// end

// sample: options
extension HTTPResource where Model == [Repository], APIError == GitHubError {
  static func everything(of owner: String) -> Self {
    var options = RequestOptions()
    options.operation = "everything"
    options.maximumBodyBytes = 50 << 20
    options.timeouts = .streaming
    return .init(GitHub.repositories(owner: owner, perPage: 100), options: options)
  }
}
// end

extension Page {
  static let resources = Page("Resources") { stage in
    let github = try stage.github()
    stage.check("a call of its own", try await oneOff(github).login == "octocat")
    let transport = ScriptedTransport([
      .expect(method: .post, path: "/user/repos", then: .respond(status: 201, body: #"{"name":"a","forks":0}"#)),
      .expect(method: .get, path: "/search?q=a&page=2&archived", then: .respond(status: 200, body: "[]")),
      .expect(method: .get, path: "/search?q=b&q=c", then: .respond(status: 200)),
      .expect(method: .delete, path: "/repos/apple/a", then: .respond(status: 204)),
    ])
    let scripted = TransportNetworkStack(
      transport: transport, configuration: StackConfiguration(baseURL: "https://api.github.com"))
    let (made, found, _) = try await methods(scripted, owner: "apple", name: "a", names: ["b", "c"])
    stage.check("methods, and query items known at run time", made.name == "a" && found.isEmpty)
    try transport.verify()
    let issue = HTTPResource<NoContent, GitHubError>(
      Issues.create(owner: "apple", repository: "swift", NewIssue(title: "Typo")), decoding: .empty)
    let created = try await github.fetch(issue)
    let posted = stage.server.requests.last
    say("\(posted?.method ?? "") \(posted?.target ?? "") \(posted?.text ?? "")")
    stage.check("a POST with a JSON body", posted?.text == #"{"title":"Typo"}"# && created.response.status == .created)
    stage.check("and its Content-Type", posted?.headers["Content-Type"] == "application/json")
    _ = try await github.fetch(.close(1, of: "swift", owner: "apple"))
    stage.check(
      "a PATCH with a form",
      stage.server.requests.last?.text == "state=closed"
        && stage.server.requests.last?.headers["Content-Type"] == "application/x-www-form-urlencoded")
    let text = try await github.fetch(.zen).value
    stage.check("a text", text.contains("octocat"))
    let forks = try await github.fetch(.forks(of: "apple")).value
    stage.check("a model made of another", forks > 0)
    let first = try await github.fetch(.repositories(of: "apple", perPage: 3))
    let link = first.response.headerFields[.init("Link") ?? .location] ?? ""
    let next = link.split(whereSeparator: { "<>".contains($0) }).first.map(String.init) ?? ""
    let second = try await github.fetch(.page(next))
    stage.check("a page by the URL that the server gave", second.value.first?.name == "swift-metrics")
    stage.check("nothing is sent to a bad URL", await refusal(of: "https://", github) == "request/invalid_url")
    let everything = try await github.fetch(.everything(of: "apple"))
    stage.check(
      "options: an operation for logs and ledger",
      everything.response.ledger.operation == "everything" && everything.response.ledger.limit == nil)
  }
}

private func refusal(of url: String, _ github: any HTTPNetworkStack) async -> String {
  do {
    _ = try await github.fetch(.page(url))
    return "none"
  } catch {
    return "\(error.stage.rawValue)/\(error.code)"
  }
}
