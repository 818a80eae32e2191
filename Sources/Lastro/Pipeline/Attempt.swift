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
  /// Why there was such a wait, or an attempt at all: `first`, or the reason of the retry.
  public var reason: String
  /// URLs redirected to during the attempt.
  public var redirects: [String]
  /// What happened on the wire in its last transfer; `nil` when none was begun.
  public var facts: TransferFacts?

  /// Makes an attempt.
  public init(
    outcome: Outcome, status: HTTPResponse.Status? = nil, error: TransportError? = nil, requestSent: Bool = false,
    delay: Duration = .zero, reason: String = "first", redirects: [String] = [], facts: TransferFacts? = nil
  ) {
    self.outcome = outcome
    self.status = status
    self.error = error
    self.requestSent = requestSent
    self.delay = delay
    self.reason = reason
    self.redirects = redirects
    self.facts = facts
  }
}
