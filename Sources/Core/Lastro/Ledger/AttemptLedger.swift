// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import HTTPTypes

/// The record of one call: every attempt with its cause and times, the waits between attempts with their reasons, and
/// the result.
///
/// Every result and every error of a fetch has a ledger. ``description`` is a multi-line text for people, and
/// ``json()`` has the same contents for programs. Neither shows secrets that Lastro knows of.
public struct AttemptLedger: Sendable {
  private struct Account: Sendable {
    var callID: UInt64
    var method: HTTPRequest.Method?
    var url: String?
    let redaction: Redaction
    let operation: String?
    let idempotencyKey: String?
    let limit: Duration?
    var elapsed: Duration
    var attempts: [Attempt]
    let retryEnd: Retry.End?
  }

  private var storage: CopyOnWrite<Account>
  private var account: Account { _read { yield storage.value } }

  /// Creates a ledger.
  ///
  /// - Parameters:
  ///   - callID: the identifier of the call within the process. Default 0.
  ///   - method: the method of the last request. Default `nil`: no request could be made.
  ///   - url: the URL of the last request; shown only in the form of ``request``.
  ///   - redaction: the rules for masking.
  ///   - operation: the name of the operation.
  ///   - idempotencyKey: the key that all attempts sent.
  ///   - limit: the total time limit of the call.
  ///   - elapsed: the duration of the call.
  ///   - attempts: all attempts, in order.
  ///   - retryEnd: the reason why there was no further attempt.
  package init(
    callID: UInt64 = 0, method: HTTPRequest.Method? = nil, url: String? = nil, redaction: Redaction = .standard,
    operation: String? = nil, idempotencyKey: String? = nil, limit: Duration? = nil, elapsed: Duration = .zero,
    attempts: [Attempt] = [], retryEnd: Retry.End? = nil
  ) {
    storage = CopyOnWrite(
      Account(
        callID: callID, method: method, url: url, redaction: redaction, operation: operation,
        idempotencyKey: idempotencyKey, limit: limit, elapsed: elapsed, attempts: attempts, retryEnd: retryEnd))
  }

  /// Returns the ledger with additional notes, made before the last transfer of its last attempt.
  func noting(_ earlier: [TransferFacts.Note]) -> AttemptLedger {
    var result = self
    if let last = result.attempts.indices.last { result.storage.value.attempts[last].note(earlier) }
    return result
  }

  /// Returns the ledger with the identifier of another call.
  func numbered(_ callID: UInt64) -> AttemptLedger {
    var result = self
    result.storage.value.callID = callID
    return result
  }

  /// Returns the ledger with another last request.
  ///
  /// - Parameter url: its URL as it is shown.
  func requesting(_ method: HTTPRequest.Method, _ url: String) -> AttemptLedger {
    var result = self
    (result.storage.value.method, result.storage.value.url) = (method, url)
    return result
  }

  /// Returns the ledger with other errors of its attempts.
  func replacingErrors(_ replace: (Attempt) -> TransportError?) -> AttemptLedger {
    var result = self
    for index in result.attempts.indices {
      result.storage.value.attempts[index].error = replace(result.attempts[index])
    }
    return result
  }

  /// Returns the ledger with other facts about the last transfer of its last attempt.
  func replacingLastFacts(by facts: TransferFacts) -> AttemptLedger {
    var result = self
    if let last = result.attempts.indices.last { result.storage.value.attempts[last].facts = facts }
    return result
  }

  /// Returns the ledger for a stream that failed while it was open.
  ///
  /// - Parameters:
  ///   - error: the failure.
  ///   - age: the time for which the stream was open.
  ///   - facts: the facts of the whole transfer, if they are known.
  func failing(with error: TransportError, openFor age: Duration, facts: TransferFacts?) -> AttemptLedger {
    var result = self
    result.storage.value.elapsed += age
    guard let last = result.attempts.indices.last else { return result }
    var attempt = result.attempts[last]
    attempt.outcome = error.stage == .cancelled ? .cancelled : .failed
    attempt.error = error
    // The ledger has the request already.
    attempt.error?.request = nil
    attempt.duration += age
    attempt.facts?.complete(by: facts)
    result.storage.value.attempts[last] = attempt
    return result
  }

  /// An empty ledger.
  static let empty = AttemptLedger()

  /// The identifier of the call within the process, as in ``AttemptContext/callID``.
  public var callID: UInt64 { account.callID }
  /// The method and URL of the last request, without query values that may be secret; `nil` if no request could be
  /// made.
  public var request: String? {
    guard let method = account.method, let url = account.url else { return nil }
    let shown = redaction.maskingQueryValues(ofURL: redaction.secretsMasked(in: url))
    return "\(method.rawValue) \(redaction.text(shown))"
  }
  /// The operation of the resource (``RequestOptions/operation``).
  public var operation: String? { account.operation }
  /// The key that every attempt sent (``RequestOptions/Idempotency-swift.enum/generatedKey``). A caller can store it to
  /// repeat the call later without the server acting on it twice.
  public var idempotencyKey: String? { account.idempotencyKey }
  /// The total time limit of the call.
  public var limit: Duration? { account.limit }
  /// The duration of the call; for a stream, the time until it was open or until it failed.
  public var elapsed: Duration { account.elapsed }
  /// All attempts of the call, in order.
  public var attempts: [Attempt] { account.attempts }
  /// The reason why there was no further attempt. `nil` if the call succeeded or was cancelled, or if neither a policy
  /// nor a rule decided.
  public var retryEnd: Retry.End? { account.retryEnd }
  /// The sum of the waits between attempts.
  package var totalDelay: Duration { attempts.reduce(.zero) { $0 + $1.delay } }

  package var redaction: Redaction { account.redaction }
  package var method: HTTPRequest.Method? { account.method }
  package var url: String? { account.url }
}

extension AttemptLedger: CustomStringConvertible, MaskedMirror {
  /// A multi-line text: the call first, then a line for each attempt, then the reason why there was no further attempt.
  public var description: String {
    var lines = ["call \(callID): \(request ?? "no request")" + (operation.map { " [\($0)]" } ?? "")]
    var sum = "\(attempts.count) \(attempts.count == 1 ? "attempt" : "attempts") in \(elapsed.brief)"
    if let limit { sum += " of \(limit.brief)" }
    if totalDelay > .zero { sum += ", \(totalDelay.brief) of it waiting to retry" }
    lines.append("  " + sum)
    if let idempotencyKey { lines.append("  Idempotency-Key: \(idempotencyKey)") }
    for attempt in attempts {
      var head = "  #\(attempt.number) at \(attempt.start.brief), \(attempt.duration.brief)"
      if attempt.preparation > .milliseconds(1) { head += " (\(attempt.preparation.brief) to make the request)" }
      lines.append("\(head): \(attempt.line(by: redaction))")
    }
    if let retryEnd { lines.append("  \(retryEnd.clause(attempts: attempts.count, by: redaction))") }
    return lines.joined(separator: "\n")
  }

  /// The identifier of the call, and the masked request and attempts.
  package var shownChildren: KeyValuePairs<String, Any> {
    ["callID": callID, "request": request as Any, "attempts": attempts.map(\.description)]
  }
}

extension AttemptLedger: Encodable {
  enum CodingKeys: String, CodingKey {
    case callID = "call", request, operation, idempotencyKey = "idempotency_key", limit = "limit_s"
    case elapsed = "elapsed_s", attempts, retryEnd = "retry_end"
  }

  /// Writes times in seconds, under names with `_s`. Unknown values are null.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(callID, forKey: .callID)
    try container.encode(request, forKey: .request)
    try container.encode(operation, forKey: .operation)
    try container.encode(idempotencyKey, forKey: .idempotencyKey)
    try container.encode(limit?.inRoundedSeconds, forKey: .limit)
    try container.encode(elapsed.inRoundedSeconds, forKey: .elapsed)
    try container.encode(attempts.map { $0.masked(by: redaction) }, forKey: .attempts)
    try container.encode(retryEnd.map { ["code": $0.code, "message": redaction.text("\($0)")] }, forKey: .retryEnd)
  }

  /// Returns the ledger as one JSON object on one line, with sorted keys.
  public func json() -> String { jsonText() }
}

extension Retry.End {
  /// Returns the clause about the end of retries for descriptions.
  func clause(attempts: Int, by redaction: Redaction) -> String {
    "not retried\(attempts > 1 ? " again" : ""): \(redaction.text("\(self)"))"
  }
}

extension Attempt {
  fileprivate func line(by redaction: Redaction) -> String {
    error?.trustFailure == nil ? redaction.text("\(self)") : redaction.text("\(masked(by: redaction))", of: error)
  }

  fileprivate func masked(by redaction: Redaction) -> Attempt {
    var result = self
    if let error { result.error = error.redacted(by: redaction) }
    result.redirects = redirects.map { redaction.url($0) }
    result.reason = redaction.text(reason)
    return result
  }
}
