// SPDX-License-Identifier: Apache-2.0

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
    try container.encode(facts?.timings, forKey: .timings)
    try container.encode(
      facts?.bodyCut.map { Cause(stage: $0.stage, code: $0.code, message: $0.message) }, forKey: .bodyCut)
    try container.encode(facts?.notes, forKey: .notes)
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
