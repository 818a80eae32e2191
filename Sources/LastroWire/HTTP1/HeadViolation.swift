// SPDX-License-Identifier: Apache-2.0

/// A rule of HTTP that a response head breaks, or a limit it exceeds.
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
  }

  package var kind: Kind
  package var message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}
