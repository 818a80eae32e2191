// SPDX-License-Identifier: Apache-2.0

/// A frame, or an end of the connection, that a ``LoopbackObfs4Server`` sends.
package enum LoopbackObfs4Step: Sendable, Hashable {
  /// A frame with bytes for the application, followed by zeros; at most 1,427 bytes in total.
  case payload([UInt8], padding: Int = 0)
  /// A frame with a seed of 24 bytes for the client's tables.
  case seed([UInt8])
  /// A frame with a seed that the server chooses.
  case drawnSeed
  /// A frame with the given packet: type, length in two bytes, payload, padding.
  case packet([UInt8])
  /// A frame with bytes for the application, with one bit changed.
  case changed([UInt8])
  /// A frame with the given length in its head, which may be wrong.
  case length(Int, box: [UInt8])
  /// The first bytes of a frame with bytes for the application.
  case part([UInt8], bytes: Int)
  /// FIN.
  case end
  /// A reset, which drops bytes that have not arrived.
  case reset
}
