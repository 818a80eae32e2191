// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension HTTPFetchError {
  /// Creates an error, for other implementations of ``HTTPNetworkStack`` and for tests of interceptors and features.
  ///
  /// - Parameters:
  ///   - reason: the kind of failure.
  ///   - request: the method and the URL, without secrets. Default `nil`.
  ///   - response: the response, if the server sent one. Default `nil`.
  ///   - apiError: the API's own error. Default: the API error in `reason`, if it has one.
  ///   - body: the body of the response, from which ``bodySnippet`` is made. Default `nil`.
  ///   - attempts: all attempts, in order. Default none.
  ///   - retryEnd: the reason why the call was not retried again. Default `nil`.
  ///   - retryState: all failures of the call, including this one, in order; for ``retryFailure``. Default none.
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

  /// Creates the error of a stream that failed after it was opened.
  ///
  /// The ledger is that of the stream's call, including the failure. Without a response, the ledger is empty.
  ///
  /// - Parameters:
  ///   - reason: the kind of failure.
  ///   - response: the response that opened the stream.
  ///   - body: the part of the body that caused the failure. Default `nil`.
  ///   - snippetBytes: the maximum number of bytes of `body` that the error shows.
  ///   - cause: the failure of the attempt, used if `reason` has none. Default `nil`.
  ///   - age: the time for which the stream was open; `nil` if the attempt itself did not fail.
  ///   - facts: the facts of the whole transfer, if they are known. Default `nil`.
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

  /// The same failure with its ledger but without the body of the response, for storing in states.
  package var bodiless: Self {
    Self(
      FailureRecord(
        record.kind, request: record.request, response: record.response, apiError: record.apiError,
        ledger: record.ledger, redaction: record.redaction))
  }

  /// Returns the same failure with another API error. The preceding failures (``retryFailure``) are converted as well.
  ///
  /// - Parameter transform: returns the new error, or `nil` to drop it. It is not called if there is no API error.
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
