// SPDX-License-Identifier: Apache-2.0

/// A stream of a ``LoopbackHTTP2Connection``.
struct LoopbackHTTP2Stream {
  /// A part of a response.
  enum Piece {
    /// Frames that are sent together: nothing may come between HEADERS and its CONTINUATION (RFC 9113 §6.10).
    case frames([LoopbackHTTP2Frame])
    case body(ArraySlice<UInt8>)
    case fault(LoopbackHTTP2Fault)
    case end(trailers: [RawRequestHead.Field])
    /// The end of the response; END_STREAM was already sent.
    case ended
  }

  var request: LoopbackRequest
  /// The number of body bytes that the client's window allows.
  var window: Int
  /// The pieces to send, in order.
  var pieces: [Piece] = []
  /// Whether the whole response was sent or abandoned.
  var isAnswered = false
}
