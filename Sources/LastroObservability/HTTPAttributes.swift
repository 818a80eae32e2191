// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
internal import Lastro

/// What OpenTelemetry's conventions for HTTP clients say about a request and its outcome (semantic conventions 1.44).
struct HTTPAttributes: Sendable {
  /// `http.request.method`.
  let method: String
  /// `http.request.method_original`, where ``method`` is not it.
  let originalMethod: String?
  /// `url.scheme`.
  let scheme: String
  /// `server.address`: an IPv6 address without brackets.
  let address: String
  /// `server.port`.
  let port: Int?
  /// `url.template`.
  let template: String?
  /// `lastro.operation`: the name of the operation.
  let operation: String?

  init(_ request: ResourceRequest, operation: String?, known: KnownMethods) {
    self.init(
      request.head.method, Origin(request.head), template: request.options.urlTemplate, operation: operation,
      known: known)
  }

  private init(
    _ method: HTTPRequest.Method, _ origin: Origin?, template: String?, operation: String?, known: KnownMethods
  ) {
    let method = method.rawValue
    let isKnown = known.names.contains(method)
    self.method = isKnown ? method : "_OTHER"
    originalMethod = isKnown ? nil : method
    scheme = origin?.scheme ?? ""
    address = origin?.host.unbracketedHost ?? ""
    port = origin?.port
    self.template = template
    self.operation = operation
  }

  /// Of the request of a call of which nothing was sent; `nil` where not even a base request could be made.
  init?(_ ledger: AttemptLedger, known: KnownMethods) {
    guard let method = ledger.method, let url = ledger.url else { return nil }
    self.init(method, try? Origin(url), template: nil, operation: ledger.operation, known: known)
  }

  /// `error.type` of an answer; `nil` below 400.
  static func errorType(of status: HTTPResponse.Status) -> String? { status.code >= 400 ? "\(status.code)" : nil }

  /// `error.type` of a failure without an answer: stage and code, of which there are few. `nil` for what the caller
  /// cancelled, which is no error.
  static func errorType(of error: TransportError) -> String? {
    error.code == .cancelled ? nil : "\(error.stage.rawValue)/\(error.code)"
  }

  /// `error.type` of a failed call: that of its last attempt.
  static func errorType(of error: HTTPFetchError<any Error>) -> String? {
    if error.stage == .http, let status = error.statusCode { return "\(status.code)" }
    return error.code == .cancelled ? nil : "\(error.stage.rawValue)/\(error.code)"
  }
}

extension Result where Success == FetchEvent.Answer, Failure == TransportError {
  private var facts: TransferFacts? {
    switch self {
    case .success(let answer): answer.response.facts
    case .failure(let error): error.facts
    }
  }

  var notes: [TransferFacts.Note] { facts?.notes ?? [] }

  /// What was refused on this side.
  var refusal: TransportError? {
    if case .failure(let error) = self, error.stage == .policy, !error.requestSent { error } else { nil }
  }

  /// Whether a request went out for it: not where something around the transport refused it, or had the answer.
  var wasSent: Bool { refusal == nil && facts?.isFromCache != true }
}
