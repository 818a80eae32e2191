// SPDX-License-Identifier: Apache-2.0

/// Why the body of an answer is not the whole of it.
///
/// What matters of an answer outside 200–299 is its status, which a body that breaks off, cannot be decoded or is
/// longer than what is kept must not hide. So such an answer has what came of its body, and this.
public struct BodyCut: Sendable, Hashable, CustomStringConvertible {
  /// Where in the flow it broke off: ``FailureStage/response``, or ``FailureStage/limit`` for what was not read.
  public var stage: FailureStage
  /// Why, as a stable word, such as `truncated_body` or `body_too_large`.
  public var code: FailureCode
  /// One readable sentence.
  public var message: String

  /// Makes a reason.
  public init(stage: FailureStage, code: FailureCode, message: String) {
    self.stage = stage
    self.code = code
    self.message = message
  }

  /// The reason as a failed exchange would have it.
  public init(_ error: TransportError) { self.init(stage: error.stage, code: error.code, message: error.message) }

  /// More came, or would have come, than is kept.
  package static func limit(_ bytes: Int) -> Self {
    Self(stage: .limit, code: .bodyTooLarge, message: "it exceeds the \(bytes) byte\(bytes == 1 ? "" : "s") kept of it")
  }

  /// One line: stage, code and message.
  public var description: String { "\(stage.rawValue)/\(code): \(message)" }
}
