// SPDX-License-Identifier: Apache-2.0

extension Retry {
  /// What has happened to an operation so far.
  public struct State: Sendable {
    /// Every failure, oldest first; for HTTP `HTTPFetchError<any Error>` values, the last alone with body and attempts.
    public var errors: [any Swift.Error]
    /// Sum of the positive delays of the retries that were scheduled; not the time that passed.
    public var totalDelay: Delay
    /// Failures that are counted, and not kept.
    package var forgotten = 0

    /// Makes a state; by default that of an operation that has not failed yet.
    public init(errors: [any Swift.Error] = [], totalDelay: Delay = .zero) {
      self.errors = errors
      self.totalDelay = totalDelay
    }

    /// No failure, no delay.
    public static let empty = State()

    /// The same with other failures.
    func mapErrors(_ transform: (any Swift.Error) -> any Swift.Error) -> State {
      State(errors: errors.map(transform), totalDelay: totalDelay)
    }

    /// Number of failures. Within a failure hook, whose own failure is not counted yet, the number of retries made.
    public var retryCount: Retries { errors.count + forgotten }
    /// Number of attempts, the current one included.
    public var attemptCount: Int { retryCount + 1 }
  }
}
