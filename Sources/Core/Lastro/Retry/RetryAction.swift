// SPDX-License-Identifier: Apache-2.0

extension Retry {
  /// An action to take after a failure.
  public enum Action: Sendable {
    /// No opinion. If no interceptor has one, the failure ends the call.
    case none
    /// Do not retry, for this reason, regardless of other opinions.
    case noRetry(Retry.Error)
    /// Retry at once.
    case retry
    /// Retry after a delay. A delay that is not positive counts as ``retry``.
    case retryAfter(Delay)

    /// A function that returns which of two actions prevails. It is called as `f(soFar, next)`, first with `soFar`
    /// ``none``.
    public typealias CompareClosure = @Sendable (_ lhs: Action, _ rhs: Action) -> Action

    /// Returns the action of higher priority: `noRetry` (the first of two), then `retryAfter` (the longer of two), then
    /// `retry`, then `none`.
    @Sendable
    public static func mostPrioritary(_ lhs: Action, _ rhs: Action) -> Action {
      switch (lhs, rhs) {
      case (.noRetry, _): lhs
      case (_, .noRetry): rhs
      case (.retryAfter(let left), .retryAfter(let right)): left > right ? lhs : rhs
      case (.retryAfter, _): lhs
      case (_, .retryAfter): rhs
      case (.retry, _), (_, .retry): .retry
      case (.none, .none): .none
      }
    }
  }
}
