// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// Why a retry is out of the question, whatever interceptors say.
enum RetryVeto {
  case trust
  case deadlinePassed
  case bodyConsumed
  case notIdempotent(HTTPRequest.Method)
  case retriedBefore

  /// The veto of a retry; `nil` where there is none.
  static func judge(_ failed: FailedAttempt) -> RetryVeto? {
    let error = failed.error
    let root = error.root
    if root.stage == .trust || root.code == .egressDenied || certificateRefusals.contains(root.code) { return .trust }
    if error.code == .totalTimeout { return .deadlinePassed }
    if let timeLeft = failed.timeLeft, timeLeft <= .zero { return .deadlinePassed }
    if error.needsRetriedFetch { return .retriedBefore }
    if failed.isBodyConsumed { return .bodyConsumed }
    // A refusal after a redirect is one of another request: the first was acted on.
    let isRefusal = failed.hops == 0 && refusals.contains(error.statusCode?.code ?? 0)
    if let firstRequest = failed.firstRequest, failed.requestSent, !firstRequest.isIdempotent, !isRefusal {
      return .notIdempotent(firstRequest.head.method)
    }
    return nil
  }

  /// Whether it is told even where a `noRetry` has a reason of its own.
  var isFinal: Bool {
    switch self {
    case .trust, .deadlinePassed: true
    case .bodyConsumed, .notIdempotent, .retriedBefore: false
    }
  }

  /// The veto as the reason that ends the call.
  var end: Retry.End {
    switch self {
    case .trust: .trust
    case .deadlinePassed: .deadlinePassed
    case .bodyConsumed: .bodyConsumed
    case .notIdempotent(let method): .notIdempotent(method)
    case .retriedBefore: .retriedBefore
    }
  }

  /// Ordinary validation refused the certificate: as much a matter of trust as a pin.
  static let certificateRefusals: Set<FailureCode> = [
    .untrustedCertificate, .hostMismatch, .certificateExpired, .certificateStatusInvalid,
  ]

  /// Statuses by which a server says that it did not act on the request: credentials missing (401, 407), wrong
  /// connection (421).
  static let refusals: Set<Int> = [401, 407, 421]
}
