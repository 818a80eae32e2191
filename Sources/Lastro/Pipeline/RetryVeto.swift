// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// Why a retry is out of the question, whatever interceptors say.
enum RetryVeto {
  case trust
  case deadlinePassed
  case bodyConsumed
  case notIdempotent(String)

  /// Whether not even a `noRetry` replaces the failure as the end of the call.
  var isFinal: Bool {
    switch self {
    case .trust, .deadlinePassed: true
    case .bodyConsumed, .notIdempotent: false
    }
  }

  var explanation: String {
    switch self {
    case .trust: "a trust failure is never retried"
    case .deadlinePassed: "the total deadline has passed"
    case .bodyConsumed: "the body has been read and cannot be sent again"
    case .notIdempotent(let method):
      "a \(method) that may have been sent is retried only with an Idempotency-Key, "
        + "or with options.idempotency = .idempotent"
    }
  }

  /// Ordinary validation refused the certificate: as much a matter of trust as a pin.
  static let certificateRefusals: Set<FailureCode> = [.untrustedCertificate, .hostMismatch, .certificateExpired]

  /// Statuses by which a server says that it did not act on the request: credentials missing (401, 407), wrong
  /// connection (421).
  static let refusals: Set<Int> = [401, 407, 421]
}
