// SPDX-License-Identifier: Apache-2.0

/// Frames of one direction to what they carry.
@usableFromInline
package struct Obfs4FrameReader: ~Copyable, Sendable {
  /// Appends what the bytes carry to the output. What was whole before a bad frame has been appended when it throws;
  /// from then on every call throws the same, and appends nothing.
  ///
  /// - Throws: ``Obfs4Failure/wrongFrame``, ``Obfs4Failure/counterExhausted``, ``Obfs4Failure/cryptoUnavailable``.
  package mutating func receive(_ bytes: some Collection<UInt8>, into output: inout [UInt8]) throws(Obfs4Failure) {
    throw .cryptoUnavailable
  }

  /// Whether an end now would cut a frame.
  package var isWithinFrame: Bool { false }

  /// The newest seed that came since the last call: 24 bytes.
  package mutating func takeSeed() -> [UInt8]? { nil }
}
