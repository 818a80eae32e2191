// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension HTTPFetchError {
  /// Makes an error: for other implementations of ``HTTPNetworkStack``, and for tests of interceptors and features.
  ///
  /// - Parameters:
  ///   - reason: the failure by kind.
  ///   - request: method and URL, without secrets. Default `nil`.
  ///   - response: the answer, where there was one. Default `nil`.
  ///   - apiError: the API's own error. Default: that of `reason`, where it has one.
  ///   - body: the answer's body; ``bodySnippet`` is made of it. Default `nil`.
  ///   - attempts: every attempt, the last one last. Default none.
  ///   - retryEnd: why there was no further attempt. Default `nil`.
  ///   - retryState: every failure of the call, this one last; for ``retryFailure``. Default none.
  public init(
    _ reason: Reason, request: String? = nil, response: ResourceResponse? = nil, apiError: APIError? = nil,
    body: Data? = nil, attempts: [Attempt] = [], retryEnd: Retry.End? = nil, retryState: Retry.State = .empty
  ) {
    self.init(
      reason, request: request, response: response, apiError: apiError, body: body, attempts: attempts,
      retryEnd: retryEnd, retryState: retryState, snippetBytes: StackConfiguration().bodySnippetBytes)
  }

  private init(
    _ reason: Reason, request: String?, response: ResourceResponse?, apiError: APIError?, body: Data?,
    attempts: [Attempt], retryEnd: Retry.End?, retryState: Retry.State, snippetBytes limit: Int
  ) {
    var ownError: APIError?
    let kind: FailureRecord.Kind
    switch reason {
    case .noRequest(let error): kind = .noRequest(error)
    case .http(let status, let error):
      kind = .http(status)
      ownError = error
    case .noData(let status): kind = .noData(status)
    case .transport(let error): kind = .transport(error)
    case .badResponse(let error): kind = .badResponse(error)
    case .redirect(let error): kind = .redirect(error)
    case .cancelled: kind = .cancelled(.cancelled(requestSent: attempts.contains(where: \.requestSent)))
    case .decode(let failure): kind = .decode(failure)
    }
    let redaction = response?.redaction ?? .standard
    let snippet = body.flatMap { $0.isEmpty || limit <= 0 ? nil : BodySnippet($0, limit: limit, redaction: redaction) }
    self.init(
      FailureRecord(
        kind, request: request, response: response, apiError: apiError ?? ownError, bodySnippet: snippet, body: body,
        ledger: AttemptLedger(redaction: redaction, attempts: attempts, retryEnd: retryEnd), retryState: retryState,
        redaction: redaction))
  }

  /// Makes the error of a stream that failed after it was opened.
  ///
  /// The ledger is that of the stream's call, up to the failure; without a response it is empty.
  ///
  /// - Parameters:
  ///   - reason: the failure by kind.
  ///   - response: the answer that opened the stream.
  ///   - body: the part of the body that the failure is about. Default `nil`.
  ///   - snippetBytes: the most bytes of `body` that the error shows.
  ///   - cause: the failure of the attempt, where `reason` has none. Default `nil`.
  ///   - age: the time for which the stream was open; `nil` where the attempt itself did not fail.
  ///   - facts: those of the whole transfer, where they are known. Default `nil`.
  package init(
    _ reason: Reason, of response: ResourceResponse?, body: Data? = nil, snippetBytes: Int,
    cause: TransportError? = nil, openFor age: Duration?, facts: TransferFacts? = nil
  ) {
    guard let response else {
      self.init(reason)
      return
    }
    var ledger = response.ledger
    let error = Self(
      reason, request: ledger.request, response: response, apiError: nil, body: body, attempts: ledger.attempts,
      retryEnd: nil, retryState: .empty, snippetBytes: snippetBytes)
    if let age, let cause = error.transportError ?? cause {
      ledger = ledger.failing(with: cause, openFor: age, facts: facts)
    }
    self.init(error.record.ending(ledger: ledger))
  }

  /// The same failure, with its ledger and without the answer's body: for states that are kept.
  package var bodiless: Self {
    Self(
      FailureRecord(
        record.kind, request: record.request, response: record.response, apiError: record.apiError,
        ledger: record.ledger, redaction: record.redaction))
  }

  /// The same failure with another API error; also of the failures before it (``retryFailure``).
  ///
  /// - Parameter transform: makes the other error; `nil` drops it. Not called where there is none.
  public func mapAPIError<E: Error>(_ transform: (APIError) -> E?) -> HTTPFetchError<E> {
    let state = record.retryState?.mapErrors { failure in
      switch failure {
      case let failure as HTTPFetchError<any Error>: Self(failure.record).mapAPIError(transform).erased
      case let failure as Self: failure.mapAPIError(transform)
      default: failure
      }
    }
    return HTTPFetchError<E>(record.replacing(apiError: apiError.flatMap(transform), retryState: state))
  }
}
