// SPDX-License-Identifier: Apache-2.0

/// An interceptor that can say, without doing it, what it would do: for ``TransportNetworkStack/explain(_:asStream:)``.
///
/// None of it may wait, show a secret, or have an effect; a policy with jitter draws a random number.
public protocol ExplainableInterceptor: HTTPResourceInterceptor {
  /// What it does and with which settings, in one line.
  var explanation: String { get }

  /// The request as it would adapt it, as far as that can be said beforehand. Default: as it is.
  func explainedRequest(_ request: ResourceRequest) -> ResourceRequest

  /// What it would want done after a failure of a first attempt. Default: ``Retry/Action/none``.
  ///
  /// - Returns: `nil` for what only the real failure can tell.
  func explainedAction(after error: HTTPFetchError<any Error>, to request: ResourceRequest) -> Retry.Action?
}

extension ExplainableInterceptor {
  /// The default: the request as it is.
  public func explainedRequest(_ request: ResourceRequest) -> ResourceRequest { request }

  /// The default: it wants no retry, and does not forbid one.
  public func explainedAction(
    after error: HTTPFetchError<any Error>, to request: ResourceRequest
  ) -> Retry.Action? { Retry.Action.none }
}

extension Retry.Policy: ExplainableInterceptor where Metadata == HTTPRetryMetadata {
  /// The policy and its numbers.
  public var explanation: String {
    switch self {
    case .maxRetries(let limit): "retries whatever is not vetoed, at once, at most \(limit) times"
    case .backoff(.constant(let delay, let until)): "retries after \(delay.brief), until \(until)"
    case .backoff(.exponential(let base, _, let until)):
      "retries after growing delays from \(base.brief), until \(until)"
    case .custom: "retries by a rule of its own"
    }
  }

  /// Asks the policy, with the failure as its first.
  public func explainedAction(after error: HTTPFetchError<any Error>, to request: ResourceRequest) -> Retry.Action? {
    shouldRetry(
      with: error, state: .empty,
      metadata: HTTPRetryMetadata(request: request, body: error.body, response: error.response))
  }
}

extension RetryInterceptor: ExplainableInterceptor {
  /// The policy's, and which failures it is asked about.
  public var explanation: String {
    policy.explanation + (eligibility == .standard ? ", where a retry may help" : "")
  }

  /// Asks the policy where the failure is eligible.
  public func explainedAction(after error: HTTPFetchError<any Error>, to request: ResourceRequest) -> Retry.Action? {
    action(
      after: error, state: .empty,
      metadata: HTTPRetryMetadata(request: request, body: error.body, response: error.response))
  }
}

extension LoggingInterceptor: ExplainableInterceptor {
  /// Says only that it logs, which changes nothing.
  public var explanation: String { "logs" }
}
