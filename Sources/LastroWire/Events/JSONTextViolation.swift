// SPDX-License-Identifier: Apache-2.0

/// Why JSON texts cannot be told apart.
package enum JSONTextViolation: Error, Equatable {
  /// A text is longer than the maximum, which is the value.
  case tooLong(Int)
  /// Of a sequence: the text is cut, or may be.
  case truncated
  /// Of a sequence: bytes stand before the first record separator, or between a text's end and the next.
  case outsideOfText
}
