// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
internal import Lastro

/// What OpenTelemetry's conventions for HTTP clients say about a request and its outcome (semantic conventions 1.38).
struct HTTPAttributes: Sendable {
  /// Methods that have a name of their own in metrics and spans; any other is `_OTHER`.
  private static let knownMethods: Set<String> = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE",
  ]

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
  /// `lastro.operation`: the name of the operation. No `url.template`, which the conventions define as a path with
  /// placeholders.
  let operation: String?

  init(_ request: ResourceRequest, operation: String?) {
    self.init(request.head.method, Origin(request.head), operation: operation)
  }

  private init(_ method: HTTPRequest.Method, _ origin: Origin?, operation: String?) {
    let method = method.rawValue
    let isKnown = Self.knownMethods.contains(method)
    self.method = isKnown ? method : "_OTHER"
    originalMethod = isKnown ? nil : method
    scheme = origin?.scheme ?? ""
    address = origin?.host.unbracketedHost ?? ""
    port = origin?.port
    self.operation = operation
  }

  /// Of the request of a call of which nothing was sent; `nil` where not even a base request could be made.
  init?(_ ledger: AttemptLedger) {
    guard let method = ledger.method, let url = ledger.url else { return nil }
    self.init(method, try? Origin(url), operation: ledger.operation)
  }

  /// `error.type` of an answer; `nil` below 400.
  static func errorType(of status: HTTPResponse.Status) -> String? { status.code >= 400 ? "\(status.code)" : nil }

  /// `error.type` of a failure without an answer: stage and code, of which there are few.
  static func errorType(of error: TransportError) -> String { "\(error.stage.rawValue)/\(error.code)" }

  /// `error.type` of a failed call: that of its last attempt.
  static func errorType(of error: HTTPFetchError<any Error>) -> String {
    if error.stage == .http, let status = error.statusCode { return "\(status.code)" }
    return "\(error.stage.rawValue)/\(error.code)"
  }
}
