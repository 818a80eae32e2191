// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro

private func standard() -> StackConfiguration {
  // sample: standard
  var configuration = StackConfiguration()
  configuration.interceptors = [RetryInterceptor.standard]
  // end
  return configuration
}

private func others() throws -> [any HTTPResourceInterceptor] {
  // sample: others
  let patient = RetryInterceptor(policy: try .standard(attempts: 5, cap: 5))
  let prompt = RetryInterceptor(policy: .maxRetries(2))
  let steady = RetryInterceptor(policy: .backoff(.constant(delay: 0.5, until: .budget(5))))
  let jitter = RetryInterceptor(
    policy: .backoff(
      .exponential(baseDelay: 0.2, scale: Retry.Backoff.fullJitter(cap: 5), until: .maxRetries(3))))
  // end
  return [patient, prompt, steady, jitter]
}

// sample: rule
extension Retry.Policy where Metadata == HTTPRetryMetadata {
  /// What was just made may take a moment to be found.
  static let untilFound = Self.custom { error, state, metadata in
    guard metadata.response?.status == .notFound, state.retryCount < 5 else { return .none }
    return .retryAfter(0.1)
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
