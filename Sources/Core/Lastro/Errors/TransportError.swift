// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes
package import LastroWire

/// The failure of one exchange over a ``Transport``.
///
/// Transports throw it. The pipeline stores it as the cause of an attempt and wraps it in ``HTTPFetchError``.
public struct TransportError: Error, Sendable, CustomStringConvertible {
  private struct Parts: Sendable {
    var stage: FailureStage
    var code: FailureCode
    var message: String
    var hint: String?
    var engineCode: Int32?
    var systemCode: Int32? = nil
    var requestSent: Bool
    var facts: TransferFacts?
    var head: HTTPResponse?
    var trustFailure: TrustFailure? = nil
    var refusedCertificate: PeerCertificate? = nil
    var request: String? = nil
  }

  private var parts: CopyOnWrite<Parts>

  /// The step that failed.
  public var stage: FailureStage {
    get { parts.value.stage }
    set { parts.value.stage = newValue }
  }
  /// The reason of the failure, as a stable word.
  public var code: FailureCode {
    get { parts.value.code }
    set { parts.value.code = newValue }
  }
  /// A readable sentence, without secrets.
  public var message: String {
    get { parts.value.message }
    set { parts.value.message = newValue }
  }
  /// A suggested fix, if there is a usual remedy.
  public var hint: String? {
    get { parts.value.hint }
    set { parts.value.hint = newValue }
  }
  /// The engine's own code, such as a `CURLcode`; `nil` if the engine was not involved. If the server ended the HTTP/2
  /// stream or connection with an error code, it is that code (RFC 9113 §7).
  public var engineCode: Int32? {
    get { parts.value.engineCode }
    set { parts.value.engineCode = newValue }
  }
  /// The `errno` that the system reported, if it reported one. Default `nil`.
  public var systemCode: Int32? {
    get { parts.value.systemCode }
    set { parts.value.systemCode = newValue }
  }
  /// Whether a byte of the request may have left this machine.
  public var requestSent: Bool {
    get { parts.value.requestSent }
    set { parts.value.requestSent = newValue }
  }
  /// The facts about the transfer; `nil` if no transfer was started.
  public var facts: TransferFacts? {
    get { parts.value.facts }
    set { parts.value.facts = newValue }
  }
  /// The head of the final response, if it was received before the failure: for example, the body was truncated, was
  /// too large or stalled. Default `nil`.
  public var head: HTTPResponse? {
    get { parts.value.head }
    set { parts.value.head = newValue }
  }
  /// The trust judge's refusal, if a judge refused the server.
  public var trustFailure: TrustFailure? {
    get { parts.value.trustFailure }
    set { parts.value.trustFailure = newValue }
  }
  /// The certificate that OpenSSL refused because it has expired, is for other names or is not trusted. None of its
  /// contents is verified: anyone may have written it. `nil` for failures of another kind.
  public package(set) var refusedCertificate: PeerCertificate? {
    get { parts.value.refusedCertificate }
    set { parts.value.refusedCertificate = newValue }
  }

  /// The method and URL of the request whose streamed body failed, without query values that may be secret. `nil` for
  /// other failures, whose ``HTTPFetchError`` has the request.
  package var request: String? {
    get { parts.value.request }
    set { parts.value.request = newValue }
  }

  /// Creates an error.
  public init(
    stage: FailureStage, code: FailureCode, message: String, hint: String? = nil, engineCode: Int32? = nil,
    requestSent: Bool = false, facts: TransferFacts? = nil, head: HTTPResponse? = nil
  ) {
    parts = CopyOnWrite(
      Parts(
        stage: stage, code: code, message: message, hint: hint, engineCode: engineCode, requestSent: requestSent,
        facts: facts, head: head))
  }

  /// Returns the error of a cancelled fetch.
  public static func cancelled(requestSent: Bool = false) -> Self {
    Self(stage: .cancelled, code: .cancelled, message: "the fetch was cancelled", requestSent: requestSent)
  }

  /// Returns the refusal of a request before anything is sent.
  public static func refused(_ code: FailureCode, _ message: String, hint: String? = nil) -> Self {
    Self(stage: .request, code: code, message: message, hint: hint)
  }

  package static func portOutOfRange(_ port: Int) -> Self {
    refused(.invalidOption, "port \(port) is out of range (1…65535)", hint: "give the port that the server listens at")
  }

  package static var cutHint: String { "the server or the network cut the connection: fetch again if that is safe" }

  /// The stage, the code, the message and the hint on one line. If a streamed body failed, the line also has the
  /// method and URL of its request.
  public var description: String {
    "\(stage.rawValue)/\(code): \(message)" + (request.map { "; \($0)" } ?? "") + (hint.map { " (\($0))" } ?? "")
  }
}

extension HeadViolation {
  /// The response's fault as a transport error. The mapping from violations to codes is only here.
  package var transportError: TransportError {
    let (stage, code): (FailureStage, FailureCode) =
      switch kind {
      case .headTooLarge, .tooManyFields: (.limit, .headTooLarge)
      case .tooManyInterimResponses: (.limit, .tooManyInterimResponses)
      case .endsInHead: (.response, .connectionLost)
      case .endsInBody: (.response, .truncatedBody)
      default: (.response, .malformedResponse)
      }
    let hint =
      switch kind {
      case .headTooLarge, .tooManyFields: "raise maximumHeadBytes or maximumHeaderFields if the server is trusted"
      case .tooManyInterimResponses: "raise maximumInterimResponses if the server is trusted"
      case .endsInHead, .endsInBody: TransportError.cutHint
      default: "the server does not follow HTTP: report it to its owner, or check that the port is that of HTTP"
      }
    return TransportError(stage: stage, code: code, message: message, hint: hint, requestSent: true)
  }
}

extension RequestViolation {
  /// The refusal of a request before anything is sent.
  package var transportError: TransportError {
    let (code, hint): (FailureCode, String) =
      switch kind {
      case .method: (.invalidMethod, "write a word such as GET, in upper case")
      case .target: (.invalidURL, "percent-encode characters that a URL cannot contain")
      case .fieldName, .fieldValue: (.invalidHeader, "leave it out, or encode it")
      case .host, .trailer: (.invalidHeader, "set it once, in the head, and well-formed")
      case .framing: (.conflictingFraming, "leave it out: the body knows its length")
      case .body: (.invalidBody, "announce the true length, or none")
      }
    return .refused(code, message, hint: hint)
  }
}

extension TransportError: LocalizedError, OneLineError {}

extension TransportError {
  /// Returns the failure for a 2xx response that lacks the body that the resource requires.
  static func noData(_ status: HTTPResponse.Status) -> Self {
    Self(
      stage: .response, code: .noData,
      message: "the server answered \(status.code) without the body that the resource requires",
      hint: "use an optional model, or NoContent, if a response without body is expected", requestSent: true)
  }
}

extension TransportError {
  /// Returns the error with its message and hint masked.
  func redacted(by redaction: Redaction) -> Self {
    var result = self
    result.message = redaction.text(message, of: self)
    result.hint = hint.map { redaction.text($0, of: self) }
    return result
  }
}
