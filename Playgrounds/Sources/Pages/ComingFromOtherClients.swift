// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroTesting

private func one(_ github: any HTTPNetworkStack) async throws -> Network.Value<Data, ResourceResponse> {
  // sample: one request
  let resource = RawHTTPResource(
    baseRequestMaking: BaseRequestMaking {
      try ResourceRequest(
        method: .post, url: "https://api.github.com/repos/apple/swift/issues",
        headers: [.accept: "application/json"], body: .json(["title": "Typo"]))
    })
  let answer = try await github.fetch(resource)
  print(answer.response.status.code, answer.value.count > 0)
  // end
  return answer
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
    stage.check("one request without an endpoint", try await one(github).response.status == .created)
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
    configuration.interceptors = [RetryInterceptor(policy: .maxRetries(3), eligibility: .any)]
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

/// Adds a token to whatever it is given.
private struct Token: RequestAuthenticator, HTTPResourceInterceptor {
  func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    var request = request
    try request.setHeader("Authorization", "Bearer token")
    return request
  }
}
