// SPDX-License-Identifier: Apache-2.0

/// An interceptor that can describe its effects without causing them, for
/// ``TransportNetworkStack/explain(_:asStream:)``.
///
/// Its requirements must not wait, reveal a secret, or have side effects; a policy with jitter draws a random number.
package protocol ExplainableInterceptor: HTTPResourceInterceptor {
  /// The name that a program writes in its list of interceptors, such as `.retry`. Default: the name of the type.
  var name: String { get }

  /// A description of the interceptor and its settings, on one line.
  var explanation: String { get }

  /// Returns the request as the interceptor would adapt it, as far as that is known beforehand. Default: the request
  /// unchanged.
  func explainedRequest(_ request: ResourceRequest) -> ResourceRequest

  /// Returns the action that the interceptor would choose after a failure of a first attempt. Default:
  /// ``Retry/Action/none``.
  ///
  /// - Returns: the action; `nil` if it depends on details of the real failure.
  func explainedAction(after error: HTTPFetchError<any Error>, to request: ResourceRequest) -> Retry.Action?
}

extension ExplainableInterceptor {
  /// The default: the name of the type.
  package var name: String { "\(Self.self)" }

  /// The default: returns the request unchanged.
  package func explainedRequest(_ request: ResourceRequest) -> ResourceRequest { request }

  /// The default: returns ``Retry/Action/none``, which neither requests nor forbids a retry.
  package func explainedAction(
    after error: HTTPFetchError<any Error>, to request: ResourceRequest
  ) -> Retry.Action? { Retry.Action.none }
}

extension Retry.Policy: ExplainableInterceptor where Metadata == HTTPRetryMetadata {
  package var name: String { "HTTPRetryPolicy" }

  /// The kind of the policy, with its limits and delays.
  package var explanation: String {
    switch self {
    case .maxRetries(1): "retries whatever is not vetoed, at once, at most once"
    case .maxRetries(let limit): "retries whatever is not vetoed, at once, at most \(limit) times"
    case .backoff(.constant(let delay, let until)): "retries after \(delay.brief), until \(until)"
    case .backoff(.exponential(let base, _, let until)):
      "retries after growing delays from \(base.brief), until \(until)"
    case .custom: "retries by a rule of its own"
    }
  }

  /// Returns the policy's decision, with the failure as the first.
  package func explainedAction(after error: HTTPFetchError<any Error>, to request: ResourceRequest) -> Retry.Action? {
    shouldRetry(with: error, state: .empty, metadata: (request, error.body, error.response))
  }
}

extension RetryInterceptor: ExplainableInterceptor {
  package var name: String { ".retry" }

  /// The policy's explanation, and the failures that it is asked about.
  package var explanation: String {
    policy.explanation + (eligibility == .standard ? ", where a retry may help" : "")
  }

  /// Returns the policy's decision if the failure is eligible; otherwise returns no opinion.
  package func explainedAction(after error: HTTPFetchError<any Error>, to request: ResourceRequest) -> Retry.Action? {
    action(after: error, state: .empty, metadata: (request, error.body, error.response))
  }
}

extension LoggingInterceptor: ExplainableInterceptor {
  package var name: String { ".logging" }

  /// The explanation that the interceptor logs; logging changes nothing.
  package var explanation: String { "logs" }
}
