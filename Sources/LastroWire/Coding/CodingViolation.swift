// SPDX-License-Identifier: Apache-2.0

/// Why a body cannot be read by its `Content-Encoding`.
package struct CodingViolation: Error, Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    /// The data are not what the coding says, or a checksum or length is wrong.
    case corrupt
    /// The body ended before the data did.
    case truncated
    /// Bytes follow the end of the data.
    case trailing
    /// Far more bytes came than they stand for.
    case wasteful
    /// There is no memory to decompress.
    case memory
  }

  package var kind: Kind
  package var message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}
