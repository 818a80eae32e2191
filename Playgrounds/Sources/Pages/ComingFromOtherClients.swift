// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroTesting

struct Issue: Decodable, Sendable { let number: Int }

private func one(_ github: any HTTPNetworkStack) async throws -> HTTPResponse.Status {
  // sample: one request
  let user: User = try await github.fetch(.get("https://api.github.com/users/octocat")).value
  let issues = "https://api.github.com/repos/apple/swift/issues"
  let answer = try await github.fetch(
    .post(issues, json: ["title": "Typo"], as: Issue.self, or: GitHubError.self))
  print(user.login, answer.response.status.code, answer.value.number > 0)
  // end
  return answer.response.status
}

private func status(_ github: any HTTPNetworkStack) async throws -> Int {
  // sample: status
  do throws(HTTPFetchError<GitHubError>) {
    return try await github.fetch(.user("nobody")).response.status.code
  } catch {
    guard let status = error.statusCode else { throw error }
    return status.code
  }
  // end
}

extension Page {
  static let comingFromOtherClients = Page("ComingFromOtherClients") { stage in
    let github = try stage.github()
    stage.check("one request without an endpoint", try await one(github) == .created)
    stage.check("a status outside 200–299 is an error, with its status", try await status(github) == 404)
    try await redirects(stage)
    try await streams(stage, github)
  }

  private static func redirects(_ stage: Stage) async throws {
    let transport = ScriptedTransport([
      .respond(status: 302, headers: [.location: "https://elsewhere.example/"]), .respond(status: 200, body: "here"),
    ])
    let stack = TransportNetworkStack(transport: transport)
    _ = try await stack.fetch(.text(at: "/moved", through: [TenantAuthenticator(tenant: "acme"), Token()]))
    stage.check(
      "credentials stay behind on a redirect to another origin",
      transport.requests.map { $0.head.headerFields[.authorization] } == ["Bearer token", nil])
    let post = ScriptedTransport([
      .fail(TransportError(stage: .response, code: .connectionLost, message: "lost", requestSent: true))
    ])
    var configuration = StackConfiguration()
    configuration.interceptors = [HTTPRetryPolicy.maxRetries(3)]
    let retrying = TransportNetworkStack(transport: post, configuration: configuration)
    if let error = await stage.failure(of: .text(.post, at: "/payments"), from: retrying) {
      stage.check("a POST that may have been sent is not sent again", post.requests.count == 1)
      say(error.retryEnd?.description ?? "")
    }
  }

  private static func streams(_ stage: Stage, _ github: any HTTPNetworkStack) async throws {
    let resource = HTTPResource.text(at: "/repos/apple/swift/archive?bytes=20000000")
    let body = try await github.stream(resource).value
    var count = 0
    for try await chunk in body { count += chunk.count }
    stage.check("a stream is not limited to 10 MiB", count == 20_000_000)
    if let error = await stage.failure(of: resource, from: github) {
      stage.check("a fetch is", error.code == .bodyTooLarge)
    }
  }
}

/// An authenticator that adds a token to every request.
private struct Token: RequestAuthenticator, HTTPResourceInterceptor {
  func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    var request = request
    try request.setHeader("Authorization", "Bearer token")
    return request
  }
}
