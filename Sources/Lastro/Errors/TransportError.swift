// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Why one exchange over a ``Transport`` failed.
///
/// Transports throw it; the pipeline keeps it as an attempt's cause and wraps it in ``HTTPFetchError``.
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

  /// Where in the flow it failed.
  public var stage: FailureStage {
    get { parts.value.stage }
    _modify { yield &parts.value.stage }
  }
  /// Why, as a stable word.
  public var code: FailureCode {
    get { parts.value.code }
    _modify { yield &parts.value.code }
  }
  /// One readable sentence, free of secrets.
  public var message: String {
    get { parts.value.message }
    _modify { yield &parts.value.message }
  }
  /// How to fix it, where there is a usual remedy.
  public var hint: String? {
    get { parts.value.hint }
    _modify { yield &parts.value.hint }
  }
  /// The engine's own code, such as a `CURLcode`; `nil` where the engine was not asked.
  public var engineCode: Int32? {
    get { parts.value.engineCode }
    _modify { yield &parts.value.engineCode }
  }
  /// The system's own reason, an `errno`, where it gave one. Default `nil`.
  public var systemCode: Int32? {
    get { parts.value.systemCode }
    _modify { yield &parts.value.systemCode }
  }
  /// Whether a byte of the request may have left this machine.
  public var requestSent: Bool {
    get { parts.value.requestSent }
    _modify { yield &parts.value.requestSent }
  }
  /// What is known about the transfer; `nil` when none was begun.
  public var facts: TransferFacts? {
    get { parts.value.facts }
    _modify { yield &parts.value.facts }
  }
  /// Head of the final response, where it had come before the failure: of a body that is truncated, too large or
  /// stalls. Default `nil`.
  public var head: HTTPResponse? {
    get { parts.value.head }
    _modify { yield &parts.value.head }
  }
  /// What a trust judge refused, where it did.
  public var trustFailure: TrustFailure? {
    get { parts.value.trustFailure }
    _modify { yield &parts.value.trustFailure }
  }
  /// The certificate that OpenSSL refused: expired, for other names, or not trusted. Nothing in it is verified: anyone
  /// may have written it. `nil` for failures of another kind.
  public package(set) var refusedCertificate: PeerCertificate? {
    get { parts.value.refusedCertificate }
    _modify { yield &parts.value.refusedCertificate }
  }

  /// Makes an error.
  public init(
    stage: FailureStage, code: FailureCode, message: String, hint: String? = nil, engineCode: Int32? = nil,
    requestSent: Bool = false, facts: TransferFacts? = nil, head: HTTPResponse? = nil
  ) {
    parts = CopyOnWrite(
      Parts(
        stage: stage, code: code, message: message, hint: hint, engineCode: engineCode, requestSent: requestSent,
        facts: facts, head: head))
  }

  /// The cancelled error.
  public static func cancelled(requestSent: Bool = false) -> Self {
    Self(stage: .cancelled, code: .cancelled, message: "the fetch was cancelled", requestSent: requestSent)
  }

  /// A refusal of the request, before anything is sent.
  public static func refused(_ code: FailureCode, _ message: String, hint: String? = nil) -> Self {
    Self(stage: .request, code: code, message: message, hint: hint)
  }

  package static func portOutOfRange(_ port: Int) -> Self {
    refused(.invalidOption, "port \(port) is out of range (1…65535)", hint: "give the port that the server listens at")
  }

  package static var cutHint: String { "the server or the network cut the connection: fetch again if that is safe" }

  /// One line: stage, code and message.
  public var description: String {
    "\(stage.rawValue)/\(code): \(message)" + (hint.map { " (\($0))" } ?? "")
  }
}
