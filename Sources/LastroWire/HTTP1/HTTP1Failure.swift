// SPDX-License-Identifier: Apache-2.0

/// Why an exchange has no answer, or no whole one. The connection is to be closed.
package struct HTTP1Failure: Error, Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    /// The connection ended or broke before the first byte of an answer. Where it had carried an exchange before,
    /// the server may have closed it without having seen this one (RFC 9112 §9.3.1).
    case lostBeforeFirstByte
    /// The connection ended or broke within an answer's head, or behind an interim one.
    case lostInHead
    /// The connection ended or broke before the answer's body did.
    case truncated
    /// The answer breaks a rule of HTTP, or a limit.
    case answer(HeadViolation)
    /// The source gave another body than was announced, or trailers that cannot be sent.
    case body(RequestViolation)
    /// The source of the body failed. The error is the caller's.
    case source
  }

  package let kind: Kind
  /// Whether the connection took any byte of the request. If not, no server has it: any method may be sent again.
  package let requestSent: Bool

  package init(kind: Kind, requestSent: Bool) {
    self.kind = kind
    self.requestSent = requestSent
  }
}
