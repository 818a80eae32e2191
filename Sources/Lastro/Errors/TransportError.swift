// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Why one exchange over a ``Transport`` failed.
///
/// Transports throw it; the pipeline keeps it as an attempt's cause and wraps it in ``HTTPFetchError``.
public struct TransportError: Error, Sendable, CustomStringConvertible {
  /// Where in the flow it failed.
  public var stage: FailureStage
  /// Why, as a stable word.
  public var code: FailureCode
  /// One readable sentence, free of secrets.
  public var message: String
  /// How to fix it, where there is a usual remedy.
  public var hint: String?
  /// The engine's own code, such as a `CURLcode`; `nil` where the engine was not asked.
  public var engineCode: Int32?
  /// Whether a byte of the request may have left this machine.
  public var requestSent: Bool
  /// What is known about the transfer; `nil` when none was begun.
  public var facts: TransferFacts?
  /// Head of the final response, where it had come before the failure: of a body that is truncated, too large or
  /// stalls. Default `nil`.
  public var head: HTTPResponse?
  /// What a trust judge refused, where it did.
  public var trustFailure: TrustFailure? {
    get { refusal?.failure }
    set { refusal = newValue.map(Refusal.init) }
  }

  /// A reference, so that the error of every other failure stays small.
  private final class Refusal: Sendable {
    let failure: TrustFailure
    init(_ failure: TrustFailure) { self.failure = failure }
  }

  private var refusal: Refusal?

  /// Makes an error.
  public init(
    stage: FailureStage,
    code: FailureCode,
    message: String,
    hint: String? = nil,
    engineCode: Int32? = nil,
    requestSent: Bool = false,
    facts: TransferFacts? = nil,
    head: HTTPResponse? = nil
  ) {
    self.stage = stage
    self.code = code
    self.message = message
    self.hint = hint
    self.engineCode = engineCode
    self.requestSent = requestSent
    self.facts = facts
    self.head = head
  }

  /// The cancelled error.
  public static func cancelled(requestSent: Bool = false) -> Self {
    Self(stage: .cancelled, code: .cancelled, message: "the fetch was cancelled", requestSent: requestSent)
  }

  /// A refusal of the request, before anything is sent.
  public static func refused(_ code: FailureCode, _ message: String, hint: String? = nil) -> Self {
    Self(stage: .request, code: code, message: message, hint: hint)
  }

  /// One line: stage, code and message.
  public var description: String {
    "\(stage.rawValue)/\(code): \(message)" + (hint.map { " (\($0))" } ?? "")
  }
}
