// SPDX-License-Identifier: Apache-2.0

/// An error of a request maker, interceptor or signer that knows its own stage and cause. The attempt's failure then
/// reports that cause, instead of only saying that the request could not be made.
protocol FailureTelling: Error {
  /// The error as the failure of an attempt that sent nothing of its request.
  var failure: TransportError { get }
  /// The fetch that failed, if the error came from a fetch.
  var failedFetch: HTTPFetchError<any Error>? { get }
}

extension FailureTelling {
  /// Whether the failed fetch may be retried without sending anything twice, even if its request is not idempotent: no
  /// part of that request was sent.
  var mayPass: Bool { failedFetch.map(RetryInterceptor.isEligibleUnsent) ?? false }

  /// Whether a retry policy has already decided about the failed fetch. A second layer of retries would multiply
  /// attempts.
  var wasRetried: Bool { failedFetch?.wasRetried ?? false }
}

extension HTTPFetchError: FailureTelling {
  var failure: TransportError {
    failure(.requestMakingFailed, "the request was not made, because another fetch failed: \(line)")
  }

  var failedFetch: HTTPFetchError<any Error>? { erased }

  /// Returns the failure of an attempt that needed the response of this fetch. The message does not include the hint.
  func failure(_ code: FailureCode, _ message: String) -> TransportError {
    // Only the caller of the attempt itself may cause a failure of the stage `cancelled`.
    var failure = TransportError(stage: isCancelled ? .request : stage, code: code, message: message, hint: hint)
    failure.engineCode = engineCode
    failure.trustFailure = trustFailure
    failure.refusedCertificate = refusedCertificate
    return failure
  }

  /// Whether this fetch, or a fetch that it needed, had several attempts or a reason not to retry.
  fileprivate var wasRetried: Bool {
    attempts.count > 1 || retryEnd != nil || needsRetriedFetch
  }

  /// Whether the fetch failed because it needed another fetch that had already been retried.
  var needsRetriedFetch: Bool {
    if case .noRequest(let error as any FailureTelling) = record.kind { error.wasRetried } else { false }
  }

  /// The original failure: if an attempt failed because of another fetch, the failure of that fetch.
  var root: HTTPFetchError<any Error> {
    guard case .noRequest(let error as any FailureTelling) = record.kind, let fetch = error.failedFetch else {
      return erased
    }
    return fetch.root
  }
}
