// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes

/// The rules by which a retry is not possible, regardless of the interceptors.
enum RetryVeto {
  /// Returns the veto against a retry, as the reason that ends the call; `nil` if there is none.
  static func judge(_ failed: FailedAttempt) -> Retry.End? {
    let error = failed.error
    let root = error.root
    if root.stage == .trust || root.code == .egressDenied || certificateRefusals.contains(root.code) { return .trust }
    if error.code == .totalTimeout { return .deadlinePassed }
    if let timeLeft = failed.timeLeft, timeLeft <= .zero { return .deadlinePassed }
    if error.needsRetriedFetch { return .retriedBefore }
    if failed.isBodyConsumed { return .bodyConsumed }
    // After a redirect, a status such as 429 refuses only the latest request; the server has already acted on the first
    // one.
    let isRefusal =
      failed.hops == 0
      && (refusals.contains(error.statusCode?.code ?? 0) || asksForNonce(error) || refusesCoding(failed))
    if let firstRequest = failed.firstRequest, failed.requestSent, !firstRequest.isIdempotent, !isRefusal {
      return .notIdempotent(firstRequest.head.method)
    }
    return nil
  }

  /// Returns whether a veto is reported even if an interceptor returned `noRetry` with another reason.
  static func isFinal(_ veto: Retry.End) -> Bool {
    switch veto {
    case .trust, .deadlinePassed: true
    default: false
    }
  }

  /// The codes for certificates that ordinary validation refused. Like pins, they are a matter of trust.
  static let certificateRefusals: Set<FailureCode> = [
    .untrustedCertificate, .hostMismatch, .certificateExpired, .certificateStatusInvalid,
  ]

  /// Returns whether a token endpoint did not act because the DPoP proof lacks its nonce (RFC 9449 §8).
  private static func asksForNonce(_ error: HTTPFetchError<any Error>) -> Bool {
    guard error.statusCode == .badRequest, error.response?.headers["DPoP-Nonce"] != nil else { return false }
    return String(decoding: error.body?.prefix(4096) ?? Data(), as: UTF8.self).contains("\"use_dpop_nonce\"")
  }

  /// Returns whether a server did not act because it does not read the coding of the request's body (RFC 7694 §3).
  private static func refusesCoding(_ failed: FailedAttempt) -> Bool {
    failed.error.statusCode == .unsupportedMediaType && failed.request?.options.uncodedBody != nil
  }

  /// The statuses by which a server reports that it did not act on the request: missing credentials (401, 407), wrong
  /// connection (421).
  static let refusals: Set<Int> = [401, 407, 421]
}
