// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroTesting

// sample: authenticated
extension HTTPResource {
  /// What `AuthenticatedRequestResource` was: a resource that has an authenticator.
  func authenticated(by authenticator: any RequestAuthenticator & HTTPResourceInterceptor) -> Self {
    var resource = self
    resource.interceptors.append(authenticator)
    return resource
  }
}
// end

// sample: rule
/// What `RetryableRequestAuthenticator.retryPolicyRule` was: a rule that an authenticator brings along.
struct LegacyAuthenticator: RequestAuthenticator, HTTPResourceInterceptor {
  let rule: HTTPRetryPolicy

  func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    var request = request
    try request.setHeader("X-Tenant", "acme")
    return request
  }

  func evaluateFailedRequest(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    retryState: Retry.State
  ) async -> Retry.Action {
    rule.shouldRetry(with: error, state: retryState, metadata: (request, body, response))
  }
}
// end

private func callbacks(
  github: any HTTPNetworkStack, handles: inout [any Cancelable], finish: @escaping @Sendable (Int) -> Void
) {
  // sample: callbacks
  let cancelable = github.fetchAndDecode(.raw(GitHub.user(login: "octocat")), decoding: .json(User.self)) { result in
    switch result {
    case .success(let user): finish(user.value.login.count)
    case .failure(.fetch(let error)): finish(error.statusCode?.code ?? 0)
    case .failure(.decode), .failure(.cancelled): finish(0)
    }
  }
  handles.append(cancelable)
  // end
}

extension Page {
  static let comingFromAlicerce = Page("ComingFromAlicerce") { stage in
    let github = try stage.github()
    let legacy = LegacyAuthenticator(
      rule: .custom { _, state, metadata in
        metadata.response?.status == .serviceUnavailable && state.retryCount < 2 ? .retry : .none
      })
    let resource = HTTPResource.text(at: "/flaky/alicerce?failures=2").authenticated(by: legacy)
    let answer = try await github.fetch(resource)
    stage.check("the authenticator's rule is asked", answer.response.ledger.attempts.count == 3)
    stage.check(
      "it authenticates every attempt", stage.server.requests.allSatisfy { $0.headers["X-Tenant"] == "acme" })
    let (numbers, number) = AsyncStream.makeStream(of: Int.self)
    var handles: [any Cancelable] = []
    callbacks(github: github, handles: &handles) { number.yield($0) }
    stage.check("a completion is called", await numbers.first { _ in true } == 7)
    stage.check("its handle was not used to cancel", handles.map(\.isCancelled) == [false])
  }
}
