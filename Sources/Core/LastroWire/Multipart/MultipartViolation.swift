// SPDX-License-Identifier: Apache-2.0

/// A rule of multipart messages (RFC 2046 §5.1) that a message breaks, or a limit that it exceeds.
package typealias MultipartViolation = WireViolation<MultipartFault>

/// The kinds of violations of multipart messages.
package enum MultipartFault: Equatable, Sendable {
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
