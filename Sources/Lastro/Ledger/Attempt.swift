// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// What became of one attempt of a call.
public struct Attempt: Sendable {
  private struct Parts: Sendable {
    var number: Int
    var outcome: Outcome
    var status: HTTPResponse.Status?
    var error: TransportError?
    var requestSent: Bool
    var delay: Duration
    var delaySource: DelaySource
    var reason: String
    var quotaLeft: Int?
    var start: Duration
    var duration: Duration
    var preparation: Duration
    var redirects: [String]
    var facts: TransferFacts?
  }

  private var parts: CopyOnWrite<Parts>

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
    /// There was no wait before the attempt.
    case none
    /// The action that interceptors agreed on.
    case policy
    /// The server's `Retry-After`, which was longer than what interceptors wanted.
    case retryAfter = "retry_after"
  }

  /// Its number in the call; 1 for the first.
  public var number: Int {
    get { parts.value.number }
    _modify { yield &parts.value.number }
  }
  /// How it ended.
  public var outcome: Outcome {
    get { parts.value.outcome }
    _modify { yield &parts.value.outcome }
  }
  /// Status of the answer, where there was one.
  public var status: HTTPResponse.Status? {
    get { parts.value.status }
    _modify { yield &parts.value.status }
  }
  /// Why it failed; `nil` when it succeeded.
  public var error: TransportError? {
    get { parts.value.error }
    _modify { yield &parts.value.error }
  }
  /// Whether a byte of the request may have left this machine.
  public var requestSent: Bool {
    get { parts.value.requestSent }
    _modify { yield &parts.value.requestSent }
  }
  /// The wait before this attempt; zero for the first.
  public var delay: Duration {
    get { parts.value.delay }
    _modify { yield &parts.value.delay }
  }
  /// What ``delay`` follows from.
  public var delaySource: DelaySource {
    get { parts.value.delaySource }
    _modify { yield &parts.value.delaySource }
  }
  /// Why there is such an attempt: `first`, or the reason of the retry, such as `status 503`.
  public var reason: String {
    get { parts.value.reason }
    _modify { yield &parts.value.reason }
  }
  /// What was left in the quota of retries of its origin, after this attempt was paid for; `nil` where nothing was
  /// paid.
  public var quotaLeft: Int? {
    get { parts.value.quotaLeft }
    _modify { yield &parts.value.quotaLeft }
  }
  /// When it began, since the call began.
  public var start: Duration {
    get { parts.value.start }
    _modify { yield &parts.value.start }
  }
  /// How long it took, from making the request to the decoded answer.
  public var duration: Duration {
    get { parts.value.duration }
    _modify { yield &parts.value.duration }
  }
  /// How long making and adapting its requests took, waits for tokens included: part of ``duration``.
  public var preparation: Duration {
    get { parts.value.preparation }
    _modify { yield &parts.value.preparation }
  }
  /// URLs redirected to during the attempt.
  public var redirects: [String] {
    get { parts.value.redirects }
    _modify { yield &parts.value.redirects }
  }
  /// What happened on the wire in its last transfer; `nil` when none was begun.
  public var facts: TransferFacts? {
    get { parts.value.facts }
    _modify { yield &parts.value.facts }
  }
  /// What its descriptions mask: the usual names, and what the call named as secret.
  var redaction = Redaction.standard

  /// Adds what was noted before its last transfer.
  mutating func note(_ earlier: [TransferFacts.Note]) {
    guard !earlier.isEmpty else { return }
    var facts = facts ?? TransferFacts()
    facts.notes = earlier + facts.notes
    self.facts = facts
  }

  /// Makes an attempt.
  public init(
    number: Int = 1, outcome: Outcome, status: HTTPResponse.Status? = nil, error: TransportError? = nil,
    requestSent: Bool = false, delay: Duration = .zero, delaySource: DelaySource = .none, reason: String = "first",
    quotaLeft: Int? = nil, start: Duration = .zero, duration: Duration = .zero, preparation: Duration = .zero,
    redirects: [String] = [], facts: TransferFacts? = nil
  ) {
    parts = CopyOnWrite(
      Parts(
        number: number, outcome: outcome, status: status, error: error, requestSent: requestSent, delay: delay,
        delaySource: delaySource, reason: reason, quotaLeft: quotaLeft, start: start, duration: duration,
        preparation: preparation, redirects: redirects, facts: facts))
  }
}
