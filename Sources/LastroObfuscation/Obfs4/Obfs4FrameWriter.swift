// SPDX-License-Identifier: Apache-2.0

/// What is sent to frames of one direction.
@usableFromInline
package struct Obfs4FrameWriter: ~Copyable, Sendable {
  /// Payload and padding of one frame together.
  package static let maximumPayload = 1427

  /// Appends one frame. Payload and padding together are at most ``maximumPayload``; what is over is cut off the
  /// padding first, and an empty payload is a frame as well.
  ///
  /// - Throws: ``Obfs4Failure/counterExhausted``, ``Obfs4Failure/cryptoUnavailable``; nothing was appended.
  package mutating func write(
    payload: ArraySlice<UInt8>, padding: Int, into output: inout [UInt8]
  ) throws(Obfs4Failure) {
    try write(type: 0, payload: payload, padding: padding, into: &output)
  }

  /// A server's seed for the client's tables: 24 bytes; a client ignores one with more or fewer.
  package mutating func write(seed: [UInt8], into output: inout [UInt8]) throws(Obfs4Failure) {
    try write(type: 1, payload: seed[...], padding: 0, into: &output)
  }

  /// Appends a frame with a packet of any type, for servers that try their client.
  package mutating func write(
    type: UInt8, payload: ArraySlice<UInt8>, padding: Int, into output: inout [UInt8]
  ) throws(Obfs4Failure) {
    throw .cryptoUnavailable
  }

  /// Appends a frame around a packet as it is, right or wrong, for servers that try their client.
  package mutating func write(packet: [UInt8], into output: inout [UInt8]) throws(Obfs4Failure) {
    throw .cryptoUnavailable
  }

  /// Appends bytes whose length says `length`, right or wrong, for servers that try their client.
  package mutating func write(length: Int, box: [UInt8], into output: inout [UInt8]) throws(Obfs4Failure) {
    throw .cryptoUnavailable
  }
}
