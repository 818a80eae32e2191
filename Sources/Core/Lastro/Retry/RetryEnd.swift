// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

extension Retry {
  /// The reason why there was no further attempt, if a policy or a rule of the stack decided it.
  ///
  /// The failure itself is unchanged. The error (``HTTPFetchError/retryEnd``) and its ledger
  /// (``AttemptLedger/retryEnd``) report this reason in addition.
  @nonexhaustive
  public enum End: Sendable, CustomStringConvertible {
    /// A policy or another interceptor decided to stop (``Retry/Action/noRetry(_:)``), for this reason.
    case policy(Retry.Error)
    /// The stack's limit ``StackConfiguration/maximumAttempts`` is reached.
    case attemptLimit(Int)
    /// The quota of retries to the origin is exhausted (``StackConfiguration/retryQuota``).
    case quotaSpent(Origin)
    /// The failure concerns trust or the egress policy, so a retry would fail as well.
    case trust
    /// The server may have processed the request, which is not idempotent (``RequestOptions/Idempotency-swift.enum``).
    case notIdempotent(HTTPRequest.Method)
    /// Another fetch that the request depends on, such as that of an access token, was already retried.
    case retriedBefore
    /// The body has been read, and cannot be read again.
    case bodyConsumed
    /// The total deadline has passed.
    case deadlinePassed
    /// The delay would not end before the total deadline.
    ///
    /// - Parameters:
    ///   - wait: the length of the delay.
    ///   - left: the time until the deadline.
    ///   - isDemanded: whether the server asked for the delay (`Retry-After`).
    case deadlineTooClose(wait: Duration, left: Duration, isDemanded: Bool)
    /// The server asks to wait longer than the stack's ``StackConfiguration/maximumRetryAfter``.
    case retryAfterTooLong(wait: Duration, limit: Duration)

    /// A stable identifier, for logs and programs: `retries`, `delay` and `policy` (a policy's reasons), `attempts`,
    /// `quota`, `trust`, `not_idempotent`, `retried_before`, `body_consumed`, `deadline`, `retry_after`.
    public var code: String {
      switch self {
      case .policy(.retries): "retries"
      case .policy(.delay): "delay"
      case .policy: "policy"
      case .attemptLimit: "attempts"
      case .quotaSpent: "quota"
      case .trust: "trust"
      case .notIdempotent: "not_idempotent"
      case .retriedBefore: "retried_before"
      case .bodyConsumed: "body_consumed"
      case .deadlinePassed, .deadlineTooClose: "deadline"
      case .retryAfterTooLong: "retry_after"
      }
    }

    /// A description on one line, which names the relevant setting, if there is one. A reason that an interceptor
    /// supplied is included unmasked.
    public var description: String {
      switch self {
      case .policy(let error): "\(error)"
      case .attemptLimit(let limit):
        "the stack's limit of \(limit) attempt\(limit == 1 ? "" : "s") is reached (StackConfiguration.maximumAttempts)"
      case .quotaSpent(let origin):
        "the quota of retries to \(origin) is spent: too many calls failed (StackConfiguration.retryQuota)"
      case .trust: "a trust failure, or a denied address, is never retried"
      case .notIdempotent(let method):
        "a \(method.rawValue) that may have been sent is retried only with an Idempotency-Key, or if it is .idempotent"
      case .retriedBefore: "another fetch, which the request needed, was retried already"
      case .bodyConsumed: "the body has been read and cannot be sent again"
      case .deadlinePassed: "the total deadline has passed"
      case .deadlineTooClose(let wait, let left, let isDemanded):
        "a wait of \(wait.brief)\(isDemanded ? ", which the server asked for (Retry-After)," : "") "
          + "does not end before the total deadline, in \(left.brief)"
      case .retryAfterTooLong(let wait, let limit):
        "the server asks to wait \(wait.brief) (Retry-After), longer than StackConfiguration.maximumRetryAfter, "
          + limit.brief
      }
    }
  }
}
