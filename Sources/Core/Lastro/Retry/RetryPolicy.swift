// SPDX-License-Identifier: Apache-2.0

extension Retry {
  /// A rule that decides whether to retry, and after which delay. `Metadata` is the data about the operation in
  /// addition to its error.
  ///
  /// Except for ``custom(_:)``, a policy examines neither the error nor the operation. For HTTP, pass it to
  /// ``HTTPResourceInterceptor/retry(_:)``, which does. A policy that is used as an interceptor retries every failure
  /// that is not vetoed.
  public enum Policy<Metadata>: Sendable {
    /// A custom rule. Its parameters are the error, the state without that error, and the metadata.
    public typealias Rule = @Sendable (_ error: any Swift.Error, _ state: State, _ metadata: Metadata) -> Action

    /// Retries at once, at most this number of times.
    case maxRetries(Retries)
    /// Retries after growing or constant delays.
    case backoff(Backoff)
    /// Asks a rule.
    case custom(Rule)

    /// Returns the action to take after a failure.
    ///
    /// - Parameters:
    ///   - error: the failure.
    ///   - state: the history before the failure; `error` is not in it.
    ///   - metadata: the data about the operation.
    public func shouldRetry(with error: any Swift.Error, state: State, metadata: Metadata) -> Action {
      switch self {
      case .maxRetries(let limit): state.retryCount >= limit ? .noRetry(.retries(limit)) : .retry
      case .backoff(let backoff): backoff.action(after: state)
      case .custom(let rule): rule(error, state, metadata)
      }
    }
  }
}
