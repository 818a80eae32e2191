// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
internal import Lastro

/// The attributes of a request and its outcome by OpenTelemetry's conventions for HTTP clients (semantic conventions
/// 1.44).
struct HTTPAttributes: Sendable {
  /// The attribute `http.request.method`.
  let method: String
  /// The attribute `http.request.method_original`, if it differs from ``method``.
  let originalMethod: String?
  /// The attribute `url.scheme`.
  let scheme: String
  /// The attribute `server.address`, with an IPv6 address without brackets.
  let address: String
  /// The attribute `server.port`.
  let port: Int?
  /// The attribute `url.template`.
  let template: String?
  /// The attribute `lastro.operation`: the name of the operation.
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

  /// Creates the attributes of a call that sent nothing; returns `nil` if not even a base request was made.
  init?(_ ledger: AttemptLedger, known: KnownMethods) {
    guard let method = ledger.method, let url = ledger.url else { return nil }
    self.init(method, try? Origin(url), template: nil, operation: ledger.operation, known: known)
  }

  /// Returns `error.type` for a response; `nil` below 400.
  static func errorType(of status: HTTPResponse.Status) -> String? { status.code >= 400 ? "\(status.code)" : nil }

  /// Returns `error.type` for a failure without a response: stage and code, which have few values. `nil` for a
  /// cancellation by the caller, which is not an error.
  static func errorType(of error: TransportError) -> String? {
    error.code == .cancelled ? nil : "\(error.stage.rawValue)/\(error.code)"
  }

  /// Returns `error.type` for a failed call: that of its last attempt.
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

  /// The error of a local refusal; `nil` if there was none.
  var refusal: TransportError? {
    if case .failure(let error) = self, error.stage == .policy, !error.requestSent { error } else { nil }
  }

  /// Whether a request was sent: false if a layer around the transport refused it, or had the response.
  var wasSent: Bool { refusal == nil && facts?.isFromCache != true }
}
