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
    let limit = StackConfiguration().bodySnippetBytes
    let snippet = body.flatMap { $0.isEmpty ? nil : BodySnippet($0, limit: limit, redaction: redaction) }
    self.init(
      FailureRecord(
        kind, request: request, response: response, apiError: apiError ?? ownError, bodySnippet: snippet, body: body,
        ledger: AttemptLedger(redaction: redaction, attempts: attempts, retryEnd: retryEnd), retryState: retryState,
        redaction: redaction))
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
