// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro

private func standard() -> StackConfiguration {
  // sample: standard
  var configuration = StackConfiguration()
  configuration.interceptors = [.retry]
  // end
  return configuration
}

private func others() throws -> [any HTTPResourceInterceptor] {
  // sample: others
  let patient = StandardInterceptor.retry(try .standard(attempts: 5, cap: .seconds(5)))
  let prompt = StandardInterceptor.retry(.maxRetries(2))
  let steady = StandardInterceptor.retry(.backoff(.constant(delay: .milliseconds(500), until: .budget(.seconds(5)))))
  let jitter = StandardInterceptor.retry(
    .backoff(
      .exponential(
        baseDelay: .milliseconds(200), scale: Retry.Backoff.fullJitter(cap: .seconds(5)), until: .maxRetries(3))))
  // end
  return [patient, prompt, steady, jitter]
}

// sample: rule
extension Retry.Policy where Metadata == HTTPRetryMetadata {
  /// What was just made may take a moment to be found.
  static let untilFound = Self.custom { error, state, metadata in
    guard metadata.response?.status == .notFound, state.retryCount < 5 else { return .none }
    return .retryAfter(.milliseconds(100))
  }
}
// end

// sample: payment
struct Payment: Encodable, Sendable {
  let amount: Int
  let currency: String
}

enum Payments: HTTPResourceEndpoint {
  case pay(Payment)

  var baseURL: URL { GitHub.user(login: "").baseURL }
  var method: HTTPRequest.Method { .post }
  var path: String? { "payments" }

  var options: RequestOptions {
    var options = RequestOptions()
    options.idempotency = .generatedKey
    return options
  }

  func makeBody() throws -> RequestBody? {
    switch self {
    case .pay(let payment): try .json(payment)
    }
  }
}
// end

private func payment(github: any HTTPNetworkStack, _ payment: HTTPResource<NoContent, GitHubError>) async throws {
  // sample: ledger
  let paid = try await github.fetch(payment)
  print(paid.response.ledger)
  // end
}

private func quotas() throws -> StackConfiguration {
  // sample: quota
  let quota = try RetryQuota(capacity: 30)  // shared by the stacks that it is given to
  var configuration = StackConfiguration()
  configuration.interceptors = [.retry(.maxRetries(5))]
  configuration.retryQuota = quota
  // end
  return configuration
}

extension Page {
  static let retrying = Page("Retrying") { stage in
    let github = try stage.github(standard())
    let answer = try await github.fetch(.text(at: "/flaky/retrying?failures=2"))
    stage.check(
      "two failures are survived", answer.response.ledger.attempts.map(\.outcome) == [.status, .status, .succeeded])
    stage.check(
      "their waits are short, and random",
      answer.response.ledger.attempts.dropFirst().allSatisfy { $0.delay < .milliseconds(101) })

    try await payments(stage, github)
    try await retryAfter(stage, github)
    try await quota(stage)

    var resource = HTTPResource<User, GitHubError>.user("not-yet")
    resource.interceptors = [HTTPRetryPolicy.untilFound]
    if let error = await stage.failure(of: resource, from: github) {
      stage.check("a rule of one's own", error.ledger.attempts.count == 6 && error.apiError?.message == "Not Found")
    }
    for interceptor in try others() {
      resource = .user("octocat")
      resource.interceptors = [interceptor]
      _ = try await github.fetch(resource)
    }
  }

  private static func payments(_ stage: Stage, _ github: any HTTPNetworkStack) async throws {
    var pay = HTTPResource<NoContent, GitHubError>(
      Payments.pay(Payment(amount: 1_250, currency: "EUR")), decoding: .empty)
    let making = pay.baseRequestMaking
    pay.baseRequestMaking = BaseRequestMaking {
      var request = try await making.make()
      request.head.path = "/payments?failures=1"
      return request
    }
    let before = stage.server.requests.count
    try await stage.prints("ledger") { try await payment(github: github, pay) }
    let keys = stage.server.requests.dropFirst(before).map { $0.headers["Idempotency-Key"] }
    stage.check("both attempts carried the same key", keys.count == 2 && keys[0] == keys[1])
    stage.check("one payment was made", try await github.fetch(.text(at: "/payments")).value == #"{"made":1}"#)
    pay.options.idempotency = .byMethod
    pay.baseRequestMaking = BaseRequestMaking {
      try ResourceRequest(
        method: .post, url: "https://api.github.com/flaky/post?failures=1", body: .json(["amount": 1]))
    }
    if let error = await stage.failure(of: pay, from: github) {
      stage.check("a POST without a key is sent once", error.ledger.attempts.count == 1)
    }
  }

  private static func retryAfter(_ stage: Stage, _ github: any HTTPNetworkStack) async throws {
    let limited = try await github.fetch(.text(at: "/limited/retrying?retry_after=1"))
    let last = limited.response.ledger.attempts.last
    say(limited.response.ledger.description)
    stage.check(
      "Retry-After is waited for", last?.delaySource == .retryAfter && (last?.delay ?? .zero) >= .seconds(1))
    if let error = await stage.failure(of: .text(at: "/limited/long?retry_after=3600"), from: github) {
      say(error.retryEnd?.description ?? "")
      stage.check("an hour is not", error.retryEnd?.code == "retry_after" && error.ledger.attempts.count == 1)
    }
  }

  private static func quota(_ stage: Stage) async throws {
    let github = try stage.github(try quotas())
    if let error = await stage.failure(of: .text(at: "/flaky/quota?failures=9"), from: github) {
      await stage.prints("quota") { print(error.retryEnd?.description ?? "retried") }
      stage.check("an empty quota ends a call", error.ledger.attempts.count == 3)
    }
  }
}
