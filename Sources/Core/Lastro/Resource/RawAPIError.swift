// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// The error of an API as undecoded bytes; see ``ErrorDecoding/raw``.
package struct RawAPIError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The body of the response.
  package var bytes: Data

  /// Wraps bytes.
  package init(bytes: Data) { self.bytes = bytes }

  /// The number of bytes, without their content.
  package var description: String { "an error of \(bytes.count) bytes" }
}
