// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro

func policies() -> [any HTTPResourceInterceptor] {
  // sample: backoff
  let retry = RetryInterceptor(
    policy: .backoff(
      .exponential(baseDelay: 0.2, scale: Retry.Backoff.fullJitter(cap: 5), until: .maxRetries(3))))
  // end
  return [retry]
}

// sample: retry after
extension Retry.Policy where Metadata == HTTPRetryMetadata {
  /// Waits for as long as the server asks, up to a minute.
  static let whenTheServerSays = Self.custom { _, state, metadata in
    guard state.retryCount < 3, let text = metadata.response?.headerFields[.retryAfter], let seconds = Double(text)
    else { return .none }
    return .retryAfter(min(seconds, 60))
  }
}
// end

// sample: idempotent post
extension HTTPResource where Model == NoContent, APIError == GitHubError {
  static func createIssue(_ issue: NewIssue, key: String, retrying policy: HTTPRetryPolicy) -> Self {
    .init(
      baseRequestMaking: BaseRequestMaking {
        var request = try Issues.create(owner: "octocat", repository: "hello", issue).makeRequest()
        try request.setHeader("Idempotency-Key", key)
        return request
      }, decoding: .empty, errorDecoding: .json(), interceptors: [RetryInterceptor(policy: policy)])
  }
}
// end

func show(github: any HTTPNetworkStack) async throws {
  // sample: attempts
  let user = try await github.fetch(.user("octocat"))
  for attempt in user.response.attempts {
    print(attempt.outcome, attempt.status?.code ?? 0, "after", attempt.delay, "because of", attempt.reason)
  }
  // end
}
