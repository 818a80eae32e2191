// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Why an HTTP fetch failed: where in its flow, why, what was sent and what came back, and every attempt.
///
/// `APIError` is the API's own error, decoded from an answer outside 200–299.
///
/// After retries it is the last attempt's failure, the same as without a retry policy: ``reason-swift.property``,
/// ``stage`` and ``code`` name that, and ``retryEnd`` says beside it why there was no further attempt.
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
  /// The failure by kind. Other kinds may come: a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Reason: Sendable {
    /// No request could be made, or it was refused, before anything was sent.
    case noRequest(any Error)
    /// The answer's status is outside 200–299, with the API's own error where one was decoded.
    case http(HTTPResponse.Status, APIError?)
    /// A 2xx answer without the body that the resource requires.
    case noData(HTTPResponse.Status)
    /// The exchange failed: name resolution, connection, TLS, trust, limits, timeouts.
    case transport(TransportError)
    /// What came back is not a valid HTTP response.
    case badResponse(TransportError)
    /// A redirect could not be followed.
    case redirect(TransportError)
    /// The caller cancelled, or the stack was shut down.
    case cancelled
    /// The body of a 2xx answer does not decode.
    case decode(DecodeFailure)
  }

  let record: FailureRecord

  init(_ record: FailureRecord) { self.record = record }

  /// The failure by kind.
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

  /// The step at which it failed.
  public var stage: FailureStage {
    switch record.kind {
    case .http: .http
    default: record.transportError?.stage ?? .request
    }
  }

  /// What the transport said, unless the server answered.
  package var transportError: TransportError? { record.transportError }

  /// Why, as a stable word.
  public var code: FailureCode {
    switch record.kind {
    case .http: .unexpectedStatus
    default: record.transportError?.code ?? .engineFailure
    }
  }

  /// One readable sentence, free of secrets that Lastro knows of.
  public var message: String {
    switch record.kind {
    case .http(let status):
      "the server answered \(record.request ?? "the request") with \(status.code)"
        + (status.reasonPhrase.isEmpty ? "" : " \(masked(status.reasonPhrase))")
        + (bodyCut.map { ", and a body that is not whole: \(masked($0))" } ?? "")
    default: record.transportError?.message ?? "the fetch failed"
    }
  }

  /// How to fix it, where there is a usual remedy.
  public var hint: String? {
    switch record.kind {
    case .http(.unauthorized): "the credentials are missing, wrong or expired: look at the request's authenticator"
    case .http(.notModified): "ask with HTTPResource.ifModified(since:), whose value is nil where nothing changed"
    case .http: response?.headerFields[.retryAfter].map { "the server asks to wait: Retry-After: \(masked($0))" }
    // Servers of TLS that are spoken to in the clear hang up without a word.
    case .transport(let error) where error.code == .connectionLost && request?.contains(" http://") == true:
      "if the port is that of TLS, write https" + (error.hint.map { "; else \($0)" } ?? "")
    // A server of HTTP/1.1 answers to prior knowledge with what is no frame.
    case .transport(let error) where error.code == .http2Failure && request?.contains(" http://") == true:
      "the server may not speak HTTP/2 without TLS: set httpVersion to .automatic"
        + (error.hint.map { "; else \($0)" } ?? "")
    default: record.transportError?.hint
    }
  }

  /// The answer, where there was one; after retries, the last one.
  public var response: ResourceResponse? { record.response }

  /// Status of ``response``; without one, that of the reason.
  public var statusCode: HTTPResponse.Status? {
    if let response { return response.status }
    return switch record.kind {
    case .http(let status), .noData(let status): status
    default: nil
    }
  }

  /// The API's own error, where the answer held one that decoded.
  public var apiError: APIError? { record.apiError as? APIError }

  /// Why the body of an answer outside 200–299 did not decode into the API's error; `nil` when it did, or was empty.
  public var apiErrorDecodingFailure: (any Error)? { record.apiErrorDecodingFailure }

  /// The beginning of the answer's body, bounded and masked.
  public var bodySnippet: BodySnippet? { record.bodySnippet }

  /// The collected body of the answer, as it came, with whatever secrets it holds: at most
  /// ``StackConfiguration/maximumErrorBodyBytes`` of an answer outside 200–299. No description prints it.
  public var body: Data? { record.body }

  /// Why ``body`` is not the whole body of an answer outside 200–299; `nil` where it is, as far as is known.
  public var bodyCut: BodyCut? { response?.facts.bodyCut }

  /// The account of the call: every attempt, the waits between them and why, and why there was not another.
  public var ledger: AttemptLedger { record.ledger }

  /// Every attempt of the call, the last one last.
  public var attempts: [Attempt] { record.ledger.attempts }

  /// Method and URL of the last request, without values of its query that may be secret
  /// (``Redaction/shownQueryItems``); `nil` when none could be made.
  public var request: String? { record.request }

  /// Why there was no further attempt; `nil` when the call was cancelled, or neither a policy nor a rule decided: no
  /// interceptor wanted to retry, and none said to stop.
  public var retryEnd: Retry.End? { record.ledger.retryEnd }

  /// What Alicerce's case `retry` holds: why a policy, or another interceptor, said to stop, and every failure of the
  /// call, this one last. `nil` where none did.
  public var retryFailure: (error: Retry.Error, state: Retry.State)? {
    guard case .policy(let error) = retryEnd else { return nil }
    return (error, record.retryState ?? .empty)
  }

  /// The engine's own code, such as a `CURLcode`.
  public var engineCode: Int32? { record.transportError?.engineCode }

  /// What a trust judge refused; `nil` where none did. Its description is what one needs to mend a policy.
  public var trustFailure: TrustFailure? { record.transportError?.trustFailure }

  /// The certificate that OpenSSL refused, before any judge was asked; see ``TransportError/refusedCertificate``.
  public var refusedCertificate: PeerCertificate? { record.transportError?.refusedCertificate }

  /// Whether it is the cancelled error.
  public var isCancelled: Bool { if case .cancelled = record.kind { true } else { false } }

  /// The same failure with its API error type-erased.
  public var erased: HTTPFetchError<any Error> { HTTPFetchError<any Error>(record) }

  /// What others wrote, as it may be seen.
  fileprivate func masked(_ value: Any) -> String { record.redaction.text("\(value)") }
}

extension HTTPFetchError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// One line: stage, code, message, the request where the message does not name its place, what the API said, number
  /// of attempts, why not another, hint.
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

  /// The API's own error; where none was decoded, the beginning of what came in its place.
  private var apiWords: String? {
    if let apiError { return "the API says: \(BodySnippet(masked(apiError).onOneLine.utf8, limit: 200).text)" }
    guard apiErrorDecodingFailure != nil, let response else { return nil }
    return bodySnippet?.foreign(to: response.headerFields).map { "the body is \($0)" }
  }

  /// Several lines: the description, the ledger, what a trust judge refused, and what the body said.
  public var debugDescription: String {
    var lines = [description]
    if let request { lines.append("  request: \(request)") }
    if !attempts.isEmpty { lines.append("  \(ledger.description.replacing("\n", with: "\n  "))") }
    if let trustFailure {
      // By value only: pins are no secrets, and a certificate's subject may well read like `key=…`.
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

  /// What ``debugDescription`` has, and the answer; without the body.
  public var customMirror: Mirror {
    Mirror(self, children: ["error": debugDescription, "response": response as Any, "ledger": ledger])
  }
}

extension HTTPFetchError: LocalizedError {
  /// As ``description``: what `localizedDescription` says.
  public var errorDescription: String? { description }
}
