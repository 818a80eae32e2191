// SPDX-License-Identifier: Apache-2.0

/// The reason why JSON texts cannot be separated.
package enum JSONTextViolation: Error, Equatable {
  /// A text exceeds the maximum, which is the value.
  case tooLong(Int)
  /// A text of a sequence is truncated, or may be.
  case truncated
  /// A sequence has bytes before its first record separator, or between a text's end and the next separator.
  case outsideOfText
}
