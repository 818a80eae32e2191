// SPDX-License-Identifier: Apache-2.0

/// A rule of multipart messages (RFC 2046 §5.1) that a message breaks, or a limit that it exceeds.
package struct MultipartViolation: Error, Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    case bareLineFeed
    case field
    case preambleTooLarge
    case paddingTooLong
    case headTooLarge
    case tooManyFields
    case tooManyParts
    /// The message ended before its last delimiter.
    case truncated
  }

  package var kind: Kind
  package var message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}
