// SPDX-License-Identifier: Apache-2.0

/// A rule of HTTP that a response breaks, or a limit that it exceeds.
package struct HeadViolation: Error, Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    case lineEnd
    case statusLine
    case fieldName
    case fieldValue
    case contentLength
    case transferEncoding
    case unexpectedUpgrade
    case headTooLarge
    case tooManyFields
    case tooManyInterimResponses
    /// The connection ended before the end of the head.
    case endsInHead
    /// The connection ended before the end of the body.
    case endsInBody
  }

  package var kind: Kind
  package var message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}
