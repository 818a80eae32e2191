// SPDX-License-Identifier: Apache-2.0

/// A rule of HTTP that a response breaks, or a limit that it exceeds.
package typealias HeadViolation = WireViolation<HeadFault>

/// The kinds of violations of a response.
package enum HeadFault: Equatable, Sendable {
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
