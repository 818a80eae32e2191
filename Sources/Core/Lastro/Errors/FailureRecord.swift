// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes

/// The details of a failed fetch. ``HTTPFetchError`` is a typed wrapper around a reference to it, so the error is one
/// word in size.
final class FailureRecord: Sendable {
  enum Kind: Sendable {
    case noRequest(any Error)
    case http(HTTPResponse.Status)
    case noData(HTTPResponse.Status)
    case transport(TransportError)
    case badResponse(TransportError)
    case redirect(TransportError)
    case cancelled(TransportError)
    case decode(DecodeFailure)
  }

  let kind: Kind
  /// The method and the URL, with the values of its query masked.
  let request: String?
  let response: ResourceResponse?
  let apiError: (any Error)?
  let apiErrorDecodingFailure: (any Error)?
  let bodySnippet: BodySnippet?
  let body: Data?
  let ledger: AttemptLedger
  /// All failures of the call, if a policy ended it.
  let retryState: Retry.State?
  /// The redaction that masks the texts of the record.
  let redaction: Redaction

  init(
    _ kind: Kind, request: String? = nil, response: ResourceResponse? = nil, apiError: (any Error)? = nil,
    apiErrorDecodingFailure: (any Error)? = nil, bodySnippet: BodySnippet? = nil, body: Data? = nil,
    ledger: AttemptLedger = .empty, retryState: Retry.State? = nil, redaction: Redaction = .standard
  ) {
    self.kind = kind.redacted(by: redaction)
    self.redaction = redaction
    self.request = request
    self.response = response
    self.apiError = apiError
    self.apiErrorDecodingFailure = apiErrorDecodingFailure
    self.bodySnippet = bodySnippet
    self.body = body
    self.ledger = ledger
    self.retryState = retryState
  }

  private func with(
    _ ledger: AttemptLedger, _ retryState: Retry.State?, in response: ResourceResponse?, _ apiError: (any Error)?,
    _ body: Data?
  ) -> FailureRecord {
    FailureRecord(
      kind, request: request, response: response, apiError: apiError, apiErrorDecodingFailure: apiErrorDecodingFailure,
      bodySnippet: bodySnippet, body: body, ledger: ledger, retryState: retryState, redaction: redaction)
  }

  /// Returns the same failure as the result of the call, with the ledger of all attempts.
  func ending(ledger: AttemptLedger, retryState: Retry.State? = nil) -> FailureRecord {
    var response = response
    response?.ledger = ledger
    return with(ledger, retryState, in: response, apiError, body)
  }

  /// Returns the same failure with another API error and other preceding failures.
  func replacing(apiError: (any Error)?, retryState: Retry.State?) -> FailureRecord {
    with(ledger, retryState, in: response, apiError, body)
  }

  /// The same failure without its large parts: the body and the ledger.
  var abridged: FailureRecord {
    var response = response
    response?.ledger = .empty
    return with(.empty, nil, in: response, apiError, nil)
  }

  /// The transport's error, or an equivalent error for a failure of another kind. Attempts store it.
  var transportError: TransportError? {
    switch kind {
    case .transport(let error), .badResponse(let error), .redirect(let error), .cancelled(let error): error
    case .noRequest(let error as TransportError): error
    case .noRequest(let error as any FailureTelling): error.failure.redacted(by: redaction)
    case .noRequest(let error):
      .refused(
        .requestMakingFailed, "the base request maker or an interceptor threw: \(redaction.text("\(error)"))",
        hint: "see the thrown error; nothing was sent")
    case .noData(let status): .noData(status)
    case .decode(let failure):
      TransportError(
        stage: .decode, code: .undecodable, message: failure.description, hint: failure.hint, requestSent: true)
    case .http: nil
    }
  }
}

extension FailureRecord.Kind {
  /// Returns the failure with the texts of transports, engines and servers masked. An error that the application threw
  /// is left unchanged.
  func redacted(by redaction: Redaction) -> Self {
    switch self {
    case .transport(let error): .transport(error.redacted(by: redaction))
    case .badResponse(let error): .badResponse(error.redacted(by: redaction))
    case .redirect(let error): .redirect(error.redacted(by: redaction))
    case .cancelled(let error): .cancelled(error.redacted(by: redaction))
    case .noRequest(let error as TransportError): .noRequest(error.redacted(by: redaction))
    case .noRequest, .http, .noData, .decode: self
    }
  }
}

extension TrustFailure {
  /// Whether the failure's texts come from Lastro itself. They then consist of hosts, ports, dates and keys.
  fileprivate var isInOwnWords: Bool { if case .refused = reason { false } else { true } }
}

extension Redaction {
  /// Returns a text of an error with its secrets masked.
  ///
  /// In texts about hosts and pins, secrets are masked by value only. `token-service:8443` looks like a name and its
  /// secret, but a reader needs it to correct a policy.
  package func text(_ text: String, of error: TransportError?) -> String {
    error?.trustFailure?.isInOwnWords == true ? secretsMasked(in: text) : self.text(text)
  }

  /// Returns a text of an error with its secrets masked.
  package func text(_ text: String, of error: HTTPFetchError<any Error>) -> String {
    self.text(text, of: error.record.transportError)
  }
}
