// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes
import Synchronization

/// The failure of an HTTP fetch: the step that failed, the reason, the request and the response, and every attempt.
///
/// `APIError` is the API's own error type, decoded from responses with a status outside 200–299.
///
/// After retries, the error describes the last attempt's failure: ``reason-swift.property``, ``stage`` and ``code`` are
/// the same as without a retry policy. ``retryEnd`` says why there was no further attempt.
///
/// ```swift
/// do throws(HTTPFetchError<GitHubError>) {
///   return try await github.fetch(.user(login)).value.login
/// } catch {
///   switch error.reason {
///   case .http(.notFound, _): return "there is no \(login)"
///   case .http(_, let apiError?): return "the API says: \(apiError.message)"
///   default: return "\(error.stage.rawValue)/\(error.code): \(error.hint ?? error.message)"
///   }
/// }
/// ```
public struct HTTPFetchError<APIError: Error>: Error, CancellationTelling {
  /// The kind of a failure. Later versions may add kinds: a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Reason: Sendable {
    /// The request could not be made, or it was refused before anything was sent.
    case noRequest(any Error)
    /// The server responded with a status outside 200–299. The case has the API's own error if one was decoded.
    case http(HTTPResponse.Status, APIError?)
    /// A 2xx response lacks the body that the resource requires.
    case noData(HTTPResponse.Status)
    /// The exchange failed, for example in name resolution, connecting, TLS or trust, or because of a limit or timeout.
    case transport(TransportError)
    /// The server's answer is not a valid HTTP response.
    case badResponse(TransportError)
    /// A redirect could not be followed.
    case redirect(TransportError)
    /// The caller cancelled the call, or the stack was shut down.
    case cancelled
    /// The body of a 2xx response does not decode.
    case decode(DecodeFailure)
  }

  let record: FailureRecord

  init(_ record: FailureRecord) { self.record = record }

  /// The kind of failure.
  public var reason: Reason {
    switch record.kind {
    case .noRequest(let error): .noRequest(error)
    case .http(let status): .http(status, apiError)
    case .noData(let status): .noData(status)
    case .transport(let error): .transport(error)
    case .badResponse(let error): .badResponse(error)
    case .redirect(let error): .redirect(error)
    case .cancelled: .cancelled
    case .decode(let failure): .decode(failure)
    }
  }

  /// The step that failed.
  public var stage: FailureStage {
    switch record.kind {
    case .http: .http
    default: record.transportError?.stage ?? .request
    }
  }

  /// The transport's error, or its equivalent; `nil` if the server responded with an unexpected status.
  package var transportError: TransportError? { record.transportError }

  /// The reason of the failure, as a stable word.
  public var code: FailureCode {
    switch record.kind {
    case .http: .unexpectedStatus
    default: record.transportError?.code ?? .engineFailure
    }
  }

  /// A readable sentence, without any secrets that Lastro knows of.
  public var message: String {
    switch record.kind {
    case .http(let status):
      "the server answered \(record.request ?? "the request") with \(status.code)"
        + (status.reasonPhrase.isEmpty ? "" : " \(masked(status.reasonPhrase))")
        + (bodyCut.map { ", and an incomplete body: \(masked($0))" } ?? "")
    default: record.transportError?.message ?? "the fetch failed"
    }
  }

  /// A suggested fix, if there is a usual remedy.
  public var hint: String? {
    switch record.kind {
    case .http(.unauthorized): "the credentials are missing, wrong or expired: look at the request's authenticator"
    case .http(.notModified): "use HTTPResource.ifModified(since:), whose value is nil if nothing changed"
    case .http: response?.headerFields[.retryAfter].map { "the server asks to wait: Retry-After: \(masked($0))" }
    // A TLS server that receives plain HTTP usually closes the connection without a response.
    case .transport(let error) where error.code == .connectionLost && request?.contains(" http://") == true:
      "if the port expects TLS, write https" + (error.hint.map { "; else \($0)" } ?? "")
    // An HTTP/1.1 server answers the HTTP/2 preface with bytes that are not a frame.
    case .transport(let error) where error.code == .http2Failure && request?.contains(" http://") == true:
      "the server may not speak HTTP/2 without TLS: set httpVersion to .automatic"
        + (error.hint.map { "; else \($0)" } ?? "")
    default: record.transportError?.hint
    }
  }

  /// The response, if there was one; after retries, the last one.
  public var response: ResourceResponse? { record.response }

  /// The status of ``response``; without a response, the status in the reason, if it has one.
  public var statusCode: HTTPResponse.Status? {
    if let response { return response.status }
    return switch record.kind {
    case .http(let status), .noData(let status): status
    default: nil
    }
  }

  /// The time that the server asks to wait before the next request, from the `Retry-After` of ``response`` (RFC 9110
  /// §10.2.3): more than zero, and at most some thirty years. `nil` if it asks for no wait, or not in a readable form.
  ///
  /// A date is compared with the response's own `Date`, and with the system's clock if there is none. A policy such as
  /// that of `.retry` waits that long, up to ``StackConfiguration/maximumRetryAfter``.
  public var retryAfter: Duration? {
    response.flatMap { RetryAfter.wait($0.headerFields, sinceEpoch: TimeSource.continuous.sinceEpoch) }
  }

  /// The API's own error, if the response had one that decoded.
  public var apiError: APIError? { record.apiError as? APIError }

  /// The error that kept the body of a response outside 200–299 from decoding into the API's error. `nil` if the body
  /// decoded or was empty.
  public var apiErrorDecodingFailure: (any Error)? { record.apiErrorDecodingFailure }

  /// The beginning of the response's body, bounded and masked.
  package var bodySnippet: BodySnippet? { record.bodySnippet }

  /// The collected body of the response, unchanged, including any secrets in it. For a response outside 200–299 it has
  /// at most ``StackConfiguration/maximumErrorBodyBytes``. No description prints it.
  public var body: Data? { record.body }

  /// The reason why ``body`` is not the complete body of a response outside 200–299; `nil` if it is complete, as far as
  /// is known.
  package var bodyCut: BodyCut? { response?.facts.bodyCut }

  /// The record of the call: every attempt, the waits between attempts with their reasons, and the reason why there was
  /// no further attempt.
  public var ledger: AttemptLedger { record.ledger }

  /// All attempts of the call, in order.
  package var attempts: [Attempt] { record.ledger.attempts }

  /// The method and URL of the last request, without query values that may be secret
  /// (``RequestOptions/shownQueryItems``); `nil` if no request could be made.
  public var request: String? { record.request }

  /// The reason why there was no further attempt. `nil` if the call was cancelled, or if neither a policy nor a rule
  /// decided: no interceptor asked for a retry, and none asked to stop.
  public var retryEnd: Retry.End? { record.ledger.retryEnd }

  /// The contents of Alicerce's case `retry`: the reason why a policy or another interceptor decided to stop, and all
  /// failures of the call, including this one, in order. `nil` if none decided to stop.
  public var retryFailure: (error: Retry.Error, state: Retry.State)? {
    guard case .policy(let error) = retryEnd else { return nil }
    return (error, record.retryState ?? .empty)
  }

  /// The engine's own code, such as a `CURLcode`.
  package var engineCode: Int32? { record.transportError?.engineCode }

  /// The trust judge's refusal; `nil` if no judge refused the server. Its description has the details needed to correct
  /// a policy.
  public var trustFailure: TrustFailure? { record.transportError?.trustFailure }

  /// The certificate that OpenSSL refused before any judge was called; see ``TransportError/refusedCertificate``.
  public var refusedCertificate: PeerCertificate? { record.transportError?.refusedCertificate }

  /// Whether the call was cancelled, by the caller or by a shutdown of the stack.
  public var isCancelled: Bool { if case .cancelled = record.kind { true } else { false } }

  /// The same failure with its API error type-erased.
  package var erased: HTTPFetchError<any Error> { HTTPFetchError<any Error>(record) }

  /// Returns text from servers or applications with its secrets masked.
  func masked(_ value: Any) -> String { record.redaction.text("\(value)") }
}

extension HTTPFetchError: CustomStringConvertible, CustomDebugStringConvertible, MaskedMirror {
  /// A line with the stage, the code, the message, the request if the message does not identify it, the API's error,
  /// the number of attempts, the reason why there was no further attempt, and the hint.
  public var description: String { line + (hint.map { " (\($0))" } ?? "") }

  /// The description without the hint.
  var line: String {
    var line = "\(stage.rawValue)/\(code): \(message)"
    if let request, namesRequest { line += "; \(request)" }
    if let words = apiWords { line += "; \(words)" }
    if attempts.count > 1 { line += "; \(attempts.count) attempts" }
    if let retryEnd { line += "; \(retryEnd.clause(attempts: attempts.count, by: record.redaction))" }
    return line
  }

  private var namesRequest: Bool {
    switch (stage, record.kind) {
    case (.http, .http), (.request, _): false
    case (.http, _), (.resolve, _), (.timeout, _), (.limit, _), (.policy, _): true
    default: transportError?.requestSent == true
    }
  }

  /// The API's own error. If none was decoded, the content type of a body that is not JSON.
  private var apiWords: String? {
    if let apiError { return "the API says: \(BodySnippet(masked(apiError).onOneLine.utf8, limit: 200).text)" }
    guard apiErrorDecodingFailure != nil, let response else { return nil }
    return bodySnippet?.foreign(to: response.headerFields).map { "the body is \($0)" }
  }

  /// Several lines: the description, the request, the ledger, the trust judge's refusal, the API error and the
  /// beginning of the body.
  public var debugDescription: String {
    var lines = [description]
    if let request { lines.append("  request: \(request)") }
    if !attempts.isEmpty { lines.append("  \(ledger.description.replacing("\n", with: "\n  "))") }
    if let trustFailure {
      // Mask by value only: pins are not secrets, and a certificate's subject may well look like `key=…`.
      let text = record.redaction.secretsMasked(in: "\(trustFailure)")
      lines.append("  \(text.replacing("\n", with: "\n  "))")
    }
    let refused = refusedCertificate.map { record.redaction.secretsMasked(in: "\($0.pin)  \($0.summary)") }
    if let refused { lines.append("  refused certificate: \(refused)") }
    if let apiError { lines.append("  API error: \(masked(apiError))") }
    if let failure = apiErrorDecodingFailure {
      lines.append("  the error body did not decode: \(masked(DecodeFailure.line(failure)))")
    }
    if let bodySnippet { lines.append("  body: \(bodySnippet)") }
    return lines.joined(separator: "\n")
  }

  /// The contents of ``debugDescription``, the response and the ledger, without the body.
  package var shownChildren: KeyValuePairs<String, Any> {
    ["error": debugDescription, "response": response as Any, "ledger": ledger]
  }
}

extension HTTPFetchError: LocalizedError, OneLineError {}

extension HTTPFetchError {
  /// Creates an error, for other implementations of ``HTTPNetworkStack`` and for tests of interceptors and features.
  ///
  /// - Parameters:
  ///   - reason: the kind of failure.
  ///   - request: the method and the URL, without secrets. Default `nil`.
  ///   - response: the response, if the server sent one. Default `nil`.
  ///   - apiError: the API's own error. Default: the API error in `reason`, if it has one.
  ///   - body: the body of the response, whose beginning the error shows. Default `nil`.
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
  package func mapAPIError<E: Error>(_ transform: (APIError) -> E?) -> HTTPFetchError<E> {
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

extension HTTPFetchError {
  var reasonOfRetry: String {
    if case .http(let status) = record.kind { "status \(status.code)" } else { "\(stage.rawValue)/\(code)" }
  }
}

extension HTTPFetchError where APIError == any Error {
  /// The same failure without the response's body, which may contain tokens.
  var withoutBody: Self {
    let state = record.retryState?.mapErrors { ($0 as? Self)?.withoutBody ?? $0 }
    return Self(
      FailureRecord(
        record.kind, request: record.request, response: record.response, ledger: record.ledger, retryState: state,
        redaction: record.redaction))
  }
}
