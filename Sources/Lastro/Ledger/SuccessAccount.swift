// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// Why there is another attempt, and what came before it.
struct AttemptCause {
  /// The wait.
  var delay: Duration
  var delaySource: Attempt.DelaySource
  var reason: String
  /// What was left in the quota of retries, where it was paid for.
  var quotaLeft: Int?
}

/// What is known of a call that succeeded, and not of its response: the ledger and the last attempt are made of both.
struct SuccessAccount: Sendable {
  let callID: UInt64
  /// The attempts before the last.
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
    var attempt = Attempt(
      number: earlier.count + 1, outcome: .succeeded, status: status, requestSent: requestSent,
      delay: cause?.delay ?? .zero, delaySource: cause?.delaySource ?? .none, reason: cause?.reason ?? "first",
      quotaLeft: cause?.quotaLeft,
      start: start, duration: duration, preparation: preparation, redirects: redirects, facts: facts)
    attempt.redaction = redaction
    return AttemptLedger(
      callID: callID, method: method, url: url, redaction: redaction, operation: operation,
      idempotencyKey: idempotencyKey, limit: limit, elapsed: elapsed, attempts: earlier + [attempt])
  }
}
