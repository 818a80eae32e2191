// SPDX-License-Identifier: Apache-2.0

/// What a handshake ends with.
///
/// It can be taken apart: `var reader = session.reader`. Usable from inline because only a frozen type can be in
/// another module.
@frozen @usableFromInline
package struct Obfs4Session: ~Copyable, Sendable {
  package var reader: Obfs4FrameReader
  package var writer: Obfs4FrameWriter
  /// What came behind the handshake: frames, which the reader is to be given first.
  package let leftover: [UInt8]
}
