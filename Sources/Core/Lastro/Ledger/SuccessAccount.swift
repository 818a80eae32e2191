// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// The reason for another attempt, with the wait before it.
struct AttemptCause {
  /// The wait before the attempt.
  var delay: Duration
  var delaySource: Attempt.DelaySource
  var reason: String
  /// The balance of the retry quota, if the attempt had a cost.
  var quotaLeft: Int?
}

/// The facts about a successful call that its response does not have. The ledger and the last attempt are made from
/// both.
struct SuccessAccount: Sendable {
  let callID: UInt64
  /// The attempts before the last one.
  let earlier: [Attempt]
  let operation: String?
  let idempotencyKey: String?
  let limit: Duration?
  let elapsed: Duration
  let start: Duration
  let duration: Duration
  let preparation: Duration
  let cause: AttemptCause?
  let requestSent: Bool

  func ledger(
    of method: HTTPRequest.Method?, _ url: String?, _ status: HTTPResponse.Status, _ redirects: [String],
    _ facts: TransferFacts, _ redaction: Redaction
  ) -> AttemptLedger {
    let attempt = Attempt(
      number: earlier.count + 1, outcome: .succeeded, status: status, requestSent: requestSent,
      delay: cause?.delay ?? .zero, delaySource: cause?.delaySource ?? .none, reason: cause?.reason ?? "first",
      quotaLeft: cause?.quotaLeft, start: start, duration: duration, preparation: preparation, redirects: redirects,
      facts: facts, redaction: redaction)
    return AttemptLedger(
      callID: callID, method: method, url: url, redaction: redaction, operation: operation,
      idempotencyKey: idempotencyKey, limit: limit, elapsed: elapsed, attempts: earlier + [attempt])
  }
}
