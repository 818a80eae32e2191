// SPDX-License-Identifier: Apache-2.0

/// An error of a request maker, interceptor or signer that knows its own stage and cause, so that the failure of the
/// attempt is told as what it is, and not only as a request that could not be made.
protocol FailureTelling: Error {
  /// As the failure of an attempt that sent nothing of its request.
  var failure: TransportError { get }
  /// The fetch that failed, where it was one.
  var failedFetch: HTTPFetchError<any Error>? { get }
}

extension FailureTelling {
  /// Whether asking again may help, and sends nothing twice: the fetch was one of a request that must not be repeated,
  /// and nothing of it was sent.
  var mayPass: Bool { failedFetch.map(RetryInterceptor.isEligibleUnsent) ?? false }

  /// Whether a retry policy has had its say about the failed fetch: another layer that retries would multiply attempts.
  var wasRetried: Bool { failedFetch?.wasRetried ?? false }
}

extension HTTPFetchError: FailureTelling {
  var failure: TransportError {
    failure(.requestMakingFailed, "the request was not made, because another fetch failed: \(line)")
  }

  var failedFetch: HTTPFetchError<any Error>? { erased }

  /// The failure of an attempt that wanted the answer of this fetch. The message is without the hint.
  func failure(_ code: FailureCode, _ message: String) -> TransportError {
    // Cancelled is only what the caller of the attempt cancelled.
    var failure = TransportError(stage: isCancelled ? .request : stage, code: code, message: message, hint: hint)
    failure.engineCode = engineCode
    failure.trustFailure = trustFailure
    failure.refusedCertificate = refusedCertificate
    return failure
  }

  /// Whether there was more than one attempt, or a reason against another one: of this fetch, or of one that it needed.
  fileprivate var wasRetried: Bool {
    attempts.count > 1 || retryEnd != nil || needsRetriedFetch
  }

  /// Whether it failed for want of another fetch that was retried already.
  var needsRetriedFetch: Bool {
    if case .noRequest(let error as any FailureTelling) = record.kind { error.wasRetried } else { false }
  }

  /// What failed at first: of an attempt that failed because of another fetch, that fetch.
  var root: HTTPFetchError<any Error> {
    guard case .noRequest(let error as any FailureTelling) = record.kind, let fetch = error.failedFetch else {
      return erased
    }
    return fetch.root
  }
}
