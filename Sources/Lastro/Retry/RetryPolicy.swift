// SPDX-License-Identifier: Apache-2.0

extension Retry {
  /// Whether, and after which delay, to retry; `Metadata` is what is known about the operation beyond its error.
  ///
  /// A policy looks neither at the error nor at the operation, except ``custom(_:)``. For HTTP, wrap it in a
  /// ``RetryInterceptor``, which does; used as an interceptor by itself it retries whatever is not vetoed.
  public enum Policy<Metadata>: Sendable {
    /// An own rule: gets the error, the state without that error, and the metadata.
    public typealias Rule = @Sendable (_ error: any Swift.Error, _ state: State, _ metadata: Metadata) -> Action

    /// Retries at once, at most so many times.
    case maxRetries(Retries)
    /// Retries after growing or constant delays.
    case backoff(Backoff)
    /// Asks a rule.
    case custom(Rule)

    /// What to do after a failure.
    ///
    /// - Parameters:
    ///   - error: the failure.
    ///   - state: what happened before it; `error` is not in it.
    ///   - metadata: what is known about the operation.
    public func shouldRetry(with error: any Swift.Error, state: State, metadata: Metadata) -> Action {
      switch self {
      case .maxRetries(let limit): state.retryCount >= limit ? .noRetry(.retries(limit)) : .retry
      case .backoff(let backoff): backoff.action(after: state)
      case .custom(let rule): rule(error, state, metadata)
      }
    }
  }
}
