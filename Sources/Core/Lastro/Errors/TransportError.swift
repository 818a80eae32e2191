// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

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
  }

  private var parts: CopyOnWrite<Parts>

  /// The step that failed.
  public var stage: FailureStage {
    get { parts.value.stage }
    _modify { yield &parts.value.stage }
  }
  /// The reason of the failure, as a stable word.
  public var code: FailureCode {
    get { parts.value.code }
    _modify { yield &parts.value.code }
  }
  /// A readable sentence, without secrets.
  public var message: String {
    get { parts.value.message }
    _modify { yield &parts.value.message }
  }
  /// A suggested fix, if there is a usual remedy.
  public var hint: String? {
    get { parts.value.hint }
    _modify { yield &parts.value.hint }
  }
  /// The engine's own code, such as a `CURLcode`; `nil` if the engine was not involved.
  public var engineCode: Int32? {
    get { parts.value.engineCode }
    _modify { yield &parts.value.engineCode }
  }
  /// The `errno` that the system reported, if it reported one. Default `nil`.
  public var systemCode: Int32? {
    get { parts.value.systemCode }
    _modify { yield &parts.value.systemCode }
  }
  /// Whether a byte of the request may have left this machine.
  public var requestSent: Bool {
    get { parts.value.requestSent }
    _modify { yield &parts.value.requestSent }
  }
  /// The facts about the transfer; `nil` if no transfer was started.
  public var facts: TransferFacts? {
    get { parts.value.facts }
    _modify { yield &parts.value.facts }
  }
  /// The head of the final response, if it was received before the failure: for example, the body was truncated, was
  /// too large or stalled. Default `nil`.
  public var head: HTTPResponse? {
    get { parts.value.head }
    _modify { yield &parts.value.head }
  }
  /// The trust judge's refusal, if a judge refused the server.
  public var trustFailure: TrustFailure? {
    get { parts.value.trustFailure }
    _modify { yield &parts.value.trustFailure }
  }
  /// The certificate that OpenSSL refused because it has expired, is for other names or is not trusted. None of its
  /// contents is verified: anyone may have written it. `nil` for failures of another kind.
  public package(set) var refusedCertificate: PeerCertificate? {
    get { parts.value.refusedCertificate }
    _modify { yield &parts.value.refusedCertificate }
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

  /// The stage, the code, the message and the hint on one line.
  public var description: String {
    "\(stage.rawValue)/\(code): \(message)" + (hint.map { " (\($0))" } ?? "")
  }
}
