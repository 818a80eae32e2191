// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// The record of one attempt of a call.
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

  /// The result of an attempt.
  public enum Outcome: String, Sendable, Hashable, Codable {
    /// The server responded with a 2xx status.
    case succeeded
    /// The server responded with a status outside 200–299.
    case status
    /// There was no usable response.
    case failed
    /// The caller cancelled the call.
    case cancelled
  }

  /// The source of the wait before an attempt.
  public enum DelaySource: String, Sendable, Hashable, Codable {
    /// There was no wait before the attempt.
    case none
    /// The wait is the result of the interceptors.
    case policy
    /// The wait is the server's `Retry-After`, which was longer than the wait of the interceptors.
    case retryAfter = "retry_after"
  }

  /// The number of the attempt in the call; 1 for the first.
  public var number: Int {
    get { parts.value.number }
    _modify { yield &parts.value.number }
  }
  /// The result of the attempt.
  public var outcome: Outcome {
    get { parts.value.outcome }
    _modify { yield &parts.value.outcome }
  }
  /// The status of the response, if there was one.
  public var status: HTTPResponse.Status? {
    get { parts.value.status }
    _modify { yield &parts.value.status }
  }
  /// The reason of the failure; `nil` if the attempt succeeded.
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
  /// The source of ``delay``.
  public var delaySource: DelaySource {
    get { parts.value.delaySource }
    _modify { yield &parts.value.delaySource }
  }
  /// The reason for the attempt: `first`, or the reason of the retry, such as `status 503`.
  public var reason: String {
    get { parts.value.reason }
    _modify { yield &parts.value.reason }
  }
  /// The balance of the origin's retry quota after the cost of this attempt was deducted; `nil` if it had no cost.
  public var quotaLeft: Int? {
    get { parts.value.quotaLeft }
    _modify { yield &parts.value.quotaLeft }
  }
  /// The start of the attempt, relative to the start of the call.
  public var start: Duration {
    get { parts.value.start }
    _modify { yield &parts.value.start }
  }
  /// The duration of the attempt, from making the request to the decoded response.
  public var duration: Duration {
    get { parts.value.duration }
    _modify { yield &parts.value.duration }
  }
  /// The time spent on making and adapting the attempt's requests, including waits for tokens. It is part of
  /// ``duration``.
  public var preparation: Duration {
    get { parts.value.preparation }
    _modify { yield &parts.value.preparation }
  }
  /// The URLs of the redirects followed during the attempt.
  public var redirects: [String] {
    get { parts.value.redirects }
    _modify { yield &parts.value.redirects }
  }
  /// The facts of the attempt's last transfer; `nil` if no transfer was started.
  public var facts: TransferFacts? {
    get { parts.value.facts }
    _modify { yield &parts.value.facts }
  }
  /// The redaction for its descriptions: the usual names, and the secrets named by the call.
  var redaction = Redaction.standard

  /// Adds notes that were made before the attempt's last transfer.
  mutating func note(_ earlier: [TransferFacts.Note]) {
    guard !earlier.isEmpty else { return }
    var facts = facts ?? TransferFacts()
    facts.notes = earlier + facts.notes
    self.facts = facts
  }

  /// Creates an attempt.
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
