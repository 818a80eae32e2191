// SPDX-License-Identifier: Apache-2.0

/// The reason why the body of a response is incomplete.
///
/// The status of a response outside 200–299 matters most. A body that is truncated, cannot be decoded or exceeds the
/// limit must not hide it. Such a response therefore has the received part of its body, and this reason.
package struct BodyCut: Sendable, Hashable, CustomStringConvertible {
  /// The stage at which the body was cut: ``FailureStage/response``, or ``FailureStage/limit`` if the rest was not
  /// read.
  package var stage: FailureStage
  /// The reason as a stable identifier, such as `truncated_body` or `body_too_large`.
  package var code: FailureCode
  /// The reason as a readable sentence.
  package var message: String

  /// Makes a reason.
  package init(stage: FailureStage, code: FailureCode, message: String) {
    self.stage = stage
    self.code = code
    self.message = message
  }

  /// Makes a reason from the error that a failed exchange would throw.
  package init(_ error: TransportError) { self.init(stage: error.stage, code: error.code, message: error.message) }

  /// Returns the reason for a body that exceeds the limit.
  package static func limit(_ bytes: Int) -> Self {
    Self(stage: .limit, code: .bodyTooLarge, message: "it exceeds the limit of \(bytes) byte\(bytes == 1 ? "" : "s")")
  }

  /// The reason on one line: stage, code and message.
  package var description: String { "\(stage.rawValue)/\(code): \(message)" }
}
