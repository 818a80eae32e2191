// SPDX-License-Identifier: Apache-2.0

/// What a handshake ends with.
///
/// It can be taken apart: `var reader = session.reader`. Frozen because only then another module may do so.
@frozen @usableFromInline
package struct Obfs4Session: ~Copyable, Sendable {
  package var reader: Obfs4FrameReader
  package var writer: Obfs4FrameWriter
  /// What came behind the handshake: frames, which the reader is to be given first.
  package let leftover: [UInt8]

  /// - Parameters:
  ///   - keys: The 144 bytes of the handshake: those of what the client sends, then those of what the server sends.
  ///   - lengthOfNonsense: See ``Obfs4FrameReader/init(keys:lengthOfNonsense:counter:)``.
  init(keys: [UInt8], isClient: Bool, lengthOfNonsense: Int, leftover: [UInt8]) throws(Obfs4Failure) {
    let ofClient = keys.prefix(Obfs4Handshake.directionKeys)
    let ofServer = keys.dropFirst(Obfs4Handshake.directionKeys)
    // Not assigned before both are there, because a value that is not copied may not be made by halves.
    let reader = try Obfs4FrameReader(keys: isClient ? ofServer : ofClient, lengthOfNonsense: lengthOfNonsense)
    let writer = try Obfs4FrameWriter(keys: isClient ? ofClient : ofServer)
    self.reader = reader
    self.writer = writer
    self.leftover = leftover
  }
}
