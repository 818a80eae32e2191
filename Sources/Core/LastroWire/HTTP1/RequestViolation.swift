// SPDX-License-Identifier: Apache-2.0

/// A rule of HTTP that a request would violate. The request is not sent.
package struct RequestViolation: Error, Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    case method
    case target
    case fieldName
    case fieldValue
    case host
    case framing
    /// The body does not match its framing.
    case body
    case trailer
  }

  package var kind: Kind
  package var message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}
