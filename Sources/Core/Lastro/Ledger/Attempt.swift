// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// The record of one attempt of a call.
public struct Attempt: Sendable {
  /// The result of an attempt.
  @nonexhaustive
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
  @nonexhaustive
  public enum DelaySource: String, Sendable, Hashable, Codable {
    /// There was no wait before the attempt.
    case none
    /// The wait is the result of the interceptors.
    case policy
    /// The wait is the server's `Retry-After`, which was longer than the wait of the interceptors.
    case retryAfter = "retry_after"
  }

  /// The number of the attempt in the call; 1 for the first.
  public var number = 1
  /// The result of the attempt.
  public var outcome: Outcome
  /// The status of the response, if there was one.
  public var status: HTTPResponse.Status?
  /// The reason of the failure; `nil` if the attempt succeeded.
  public var error: TransportError?
  /// Whether a byte of the request may have left this machine.
  public var requestSent = false
  /// The wait before this attempt; zero for the first.
  public var delay = Duration.zero
  /// The source of ``delay``.
  public var delaySource = DelaySource.none
  /// The reason for the attempt: `first`, or the reason of the retry, such as `status 503`.
  public var reason = "first"
  /// The balance of the origin's retry quota after the cost of this attempt was deducted; `nil` if it had no cost.
  package var quotaLeft: Int?
  /// The start of the attempt, relative to the start of the call.
  public var start = Duration.zero
  /// The duration of the attempt, from making the request to the decoded response.
  public var duration = Duration.zero
  /// The time spent on making and adapting the attempt's requests, including waits for tokens. It is part of
  /// ``duration``.
  package var preparation = Duration.zero
  /// The URLs of the redirects followed during the attempt.
  public var redirects: [String] = []
  /// The facts of the attempt's last transfer; `nil` if no transfer was started.
  public var facts: TransferFacts?
  /// The redaction for its descriptions: the usual names, and the secrets named by the call.
  var redaction = Redaction.standard

  /// Adds notes that were made before the attempt's last transfer.
  mutating func note(_ earlier: [TransferFacts.Note]) {
    guard !earlier.isEmpty else { return }
    var facts = facts ?? TransferFacts()
    facts.notes = earlier + facts.notes
    self.facts = facts
  }
}

extension Attempt: Encodable, CustomStringConvertible {
  enum CodingKeys: String, CodingKey {
    case number, outcome, status, cause, sent, delay = "delay_s", delaySource = "delay_source", reason
    case quotaLeft = "quota_left", start = "start_s", duration = "duration_s", preparation = "preparation_s"
    case redirects, connection, bytesSent = "bytes_sent", bytesReceived = "bytes_received", resends, timings
    case bodyCut = "body_cut", notes
  }

  private struct Cause: Encodable {
    var stage: FailureStage
    var code: FailureCode
    var message: String
  }

  /// Writes times in seconds, under names with `_s`. Unknown values are null.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(number, forKey: .number)
    try container.encode(outcome, forKey: .outcome)
    try container.encode(status?.code, forKey: .status)
    try container.encode(error.map { Cause(stage: $0.stage, code: $0.code, message: $0.message) }, forKey: .cause)
    try container.encode(requestSent, forKey: .sent)
    try container.encode(delay.inRoundedSeconds, forKey: .delay)
    try container.encode(delaySource, forKey: .delaySource)
    try container.encode(reason, forKey: .reason)
    try container.encode(quotaLeft, forKey: .quotaLeft)
    try container.encode(start.inRoundedSeconds, forKey: .start)
    try container.encode(duration.inRoundedSeconds, forKey: .duration)
    try container.encode(preparation.inRoundedSeconds, forKey: .preparation)
    try container.encode(redirects.map { redaction.url($0) }, forKey: .redirects)
    try container.encode(facts?.connectionSummary, forKey: .connection)
    try container.encode(facts?.bytesSent, forKey: .bytesSent)
    try container.encode(facts?.bytesReceived, forKey: .bytesReceived)
    try container.encode(facts?.resends, forKey: .resends)
    try container.encode(facts?.timings.record, forKey: .timings)
    try container.encode(
      facts?.bodyCut.map { Cause(stage: $0.stage, code: $0.code, message: $0.message) }, forKey: .bodyCut)
    try container.encode(facts?.notes.map(TransferFacts.Note.Record.init), forKey: .notes)
  }

  /// The attempt on one line, without secrets.
  public var description: String {
    var parts = ["\(outcome.rawValue)"]
    if let status { parts.append("status \(status.code)") }
    if let error { parts.append("\(error)") }
    if let cut = facts?.bodyCut { parts.append("body cut (\(cut))") }
    parts.append(requestSent ? "sent" : "nothing sent")
    if delay > .zero {
      parts.append("after waiting \(delay.brief)" + (delaySource == .retryAfter ? " (Retry-After)" : ""))
    }
    if reason != "first" { parts.append("because of \(reason)") }
    if let quotaLeft { parts.append("quota left \(quotaLeft)") }
    if !redirects.isEmpty { parts.append("\(redirects.count) redirect\(redirects.count == 1 ? "" : "s")") }
    parts += (facts?.notes ?? []).map(\.text).filter { !$0.isEmpty }
    if let summary = facts?.summary, !summary.isEmpty { parts.append(summary) }
    return parts.joined(separator: ", ")
  }
}
