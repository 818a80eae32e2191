// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// What became of one attempt of a call.
public struct Attempt: Sendable {
  /// How an attempt ended.
  public enum Outcome: String, Sendable, Hashable, Codable {
    /// A 2xx answer.
    case succeeded
    /// An answer outside 200–299.
    case status
    /// No usable answer.
    case failed
    /// The caller cancelled.
    case cancelled
  }

  /// What the wait before an attempt follows from.
  public enum DelaySource: String, Sendable, Hashable, Codable {
    /// There was none.
    case none
    /// The action that interceptors agreed on.
    case policy
    /// The server's `Retry-After`, which was longer than what interceptors wanted.
    case retryAfter = "retry_after"
  }

  /// Its number in the call; 1 for the first.
  public var number: Int
  /// How it ended.
  public var outcome: Outcome
  /// Status of the answer, where there was one.
  public var status: HTTPResponse.Status?
  /// Why it failed; `nil` when it succeeded.
  public var error: TransportError?
  /// Whether a byte of the request may have left this machine.
  public var requestSent: Bool
  /// The wait before this attempt; zero for the first.
  public var delay: Duration
  /// What ``delay`` follows from.
  public var delaySource: DelaySource
  /// Why there is such an attempt: `first`, or the reason of the retry, such as `status 503`.
  public var reason: String
  /// What was left in the quota of retries of its origin, after this attempt was paid for; `nil` where nothing was paid.
  public var quotaLeft: Int?
  /// When it began, since the call began.
  public var start: Duration
  /// How long it took, from making the request to the decoded answer.
  public var duration: Duration
  /// How long making and adapting its requests took, waits for tokens included: part of ``duration``.
  public var preparation: Duration
  /// URLs redirected to during the attempt.
  public var redirects: [String]
  /// What happened on the wire in its last transfer; `nil` when none was begun.
  public var facts: TransferFacts?
  /// What its descriptions mask: the usual names, and what the call named as secret.
  var redaction = Redaction.standard

  /// Makes an attempt.
  public init(
    number: Int = 1, outcome: Outcome, status: HTTPResponse.Status? = nil, error: TransportError? = nil,
    requestSent: Bool = false, delay: Duration = .zero, delaySource: DelaySource = .none, reason: String = "first",
    quotaLeft: Int? = nil, start: Duration = .zero, duration: Duration = .zero, preparation: Duration = .zero,
    redirects: [String] = [], facts: TransferFacts? = nil
  ) {
    self.number = number
    self.outcome = outcome
    self.status = status
    self.error = error
    self.requestSent = requestSent
    self.delay = delay
    self.delaySource = delaySource
    self.reason = reason
    self.quotaLeft = quotaLeft
    self.start = start
    self.duration = duration
    self.preparation = preparation
    self.redirects = redirects
    self.facts = facts
  }
}
