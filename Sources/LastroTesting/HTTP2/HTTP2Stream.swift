// SPDX-License-Identifier: Apache-2.0

/// A stream of a ``LoopbackHTTP2Connection``.
struct HTTP2Stream {
  /// A part of an answer.
  enum Piece {
    /// Sent together: nothing may come between HEADERS and its CONTINUATION (RFC 9113 §6.10).
    case frames([LoopbackHTTP2Frame])
    case body(ArraySlice<UInt8>)
    case fault(LoopbackHTTP2Fault)
    case end(trailers: [RawRequestHead.Field])
    /// END_STREAM was sent already.
    case ended
  }

  var request: LoopbackRequest
  /// Bytes of body the client has room for.
  var window: Int
  /// What is still to be sent, in order.
  var pieces: [Piece] = []
  /// Whether all of the answer was sent, or given up.
  var isAnswered = false
}
