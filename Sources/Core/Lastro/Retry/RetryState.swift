// SPDX-License-Identifier: Apache-2.0

extension Retry {
  /// The history of an operation so far.
  public struct State: Sendable {
    /// All failures, oldest first. For HTTP they are `HTTPFetchError<any Error>` values, of which only the last has its
    /// body and attempts.
    public var errors: [any Swift.Error]
    /// The sum of the positive delays of the retries that were scheduled. It is not the elapsed time.
    public var totalDelay: Delay
    /// The number of failures that are counted but not stored.
    package var forgotten = 0

    /// Makes a state. Default: that of an operation that has not failed yet.
    public init(errors: [any Swift.Error] = [], totalDelay: Delay = .zero) {
      self.errors = errors
      self.totalDelay = totalDelay
    }

    /// The state of an operation that has not failed yet.
    public static let empty = State()

    /// Returns a state with transformed failures.
    func mapErrors(_ transform: (any Swift.Error) -> any Swift.Error) -> State {
      var state = self
      state.errors = errors.map(transform)
      return state
    }

    /// The number of failures. In a failure hook, whose own failure is not counted yet, it is the number of retries
    /// made.
    public var retryCount: Retries { errors.count + forgotten }
    /// The number of attempts, including the current one.
    public var attemptCount: Int { retryCount + 1 }
  }
}
