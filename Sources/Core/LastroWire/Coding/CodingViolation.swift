// SPDX-License-Identifier: Apache-2.0

/// The reason why a body cannot be decoded by its `Content-Encoding`.
package typealias CodingViolation = WireViolation<CodingFault>

/// The kinds of bodies that cannot be decoded.
package enum CodingFault: Equatable, Sendable {
  /// The data does not match its coding, or a checksum or length is wrong.
  case corrupt
  /// The body ended before its compressed data did.
  case truncated
  /// Bytes follow the end of the data.
  case trailing
  /// The compressed input is far longer than the data in it.
  case wasteful
  /// Memory for the decompression cannot be allocated.
  case memory
  /// The windows of all bodies together would be larger than allowed.
  case windows
  /// The window is larger than allowed.
  case largeWindow
}
