// SPDX-License-Identifier: Apache-2.0

/// A failure of an exchange that has no response or an incomplete one. The connection must be closed.
package struct HTTP1Failure: Error, Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    /// The connection ended or failed before the first byte of a response. On a reused connection, the server may have
    /// closed it before it saw the request (RFC 9112 §9.3.1).
    case lostBeforeFirstByte
    /// The connection ended or failed within a response's head, or after an interim response.
    case lostInHead
    /// The connection ended or failed before the end of the response's body.
    case truncated
    /// The response violates HTTP or exceeds a limit.
    case answer(HeadViolation)
    /// The source's body differs from its announced length, or its trailers cannot be sent.
    case body(RequestViolation)
  }

  package let kind: Kind
  /// Whether the connection accepted any byte of the request. If not, no server received it, and any method may be
  /// retried.
  package let requestSent: Bool

  package init(kind: Kind, requestSent: Bool) {
    self.kind = kind
    self.requestSent = requestSent
  }
}
