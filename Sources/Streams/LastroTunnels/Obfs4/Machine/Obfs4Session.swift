// SPDX-License-Identifier: Apache-2.0

/// The result of a handshake.
///
/// A session can be taken apart: `var reader = session.reader`. It is frozen because only then can other modules do so.
@frozen @usableFromInline
package struct Obfs4Session: ~Copyable, Sendable {
  package var reader: Obfs4FrameReader
  package var writer: Obfs4FrameWriter
  /// The bytes received after the handshake. They are frames; pass them to the reader first.
  package let leftover: [UInt8]

  /// Creates a session.
  ///
  /// - Parameters:
  ///   - keys: the 144 bytes of the handshake: the client's direction, then the server's.
  ///   - lengthOfNonsense: See ``Obfs4FrameReader/init(keys:lengthOfNonsense:counter:)``.
  init(keys: [UInt8], isClient: Bool, lengthOfNonsense: Int, leftover: [UInt8]) throws(Obfs4Failure) {
    let ofClient = keys.prefix(Obfs4Handshake.directionKeys)
    let ofServer = keys.dropFirst(Obfs4Handshake.directionKeys)
    // Assign both at the end: a noncopyable value must not be left partly initialized when one of them throws.
    let reader = try Obfs4FrameReader(keys: isClient ? ofServer : ofClient, lengthOfNonsense: lengthOfNonsense)
    let writer = try Obfs4FrameWriter(keys: isClient ? ofClient : ofServer)
    self.reader = reader
    self.writer = writer
    self.leftover = leftover
  }
}
