// SPDX-License-Identifier: Apache-2.0

/// What goes wrong with an answer over HTTP/2; ``Point`` says where.
public enum LoopbackHTTP2Fault: Sendable, Hashable {
  /// A point of an answer.
  public enum Point: Sendable, Hashable {
    /// Instead of, or in front of, the answer.
    case beforeHeaders
    /// Between the head and the body.
    case afterHeaders
    /// After so many bytes of the body.
    case body(after: Int)
  }

  /// The last stream a GOAWAY names.
  public enum LastStream: Sendable, Hashable {
    /// The request's own: it is still answered (a graceful end).
    case own
    /// The one before the request's: the request was not acted on, and is not answered.
    case before
    /// A number.
    case id(UInt32)
  }

  /// Sends nothing more on this stream; others go on.
  case stall
  /// Stops reading and writing until the client gives the connection up.
  case stallConnection
  /// RST_STREAM.
  case resetStream(LoopbackHTTP2Code)
  /// GOAWAY. The streams up to the last are still answered; then as ``close``.
  case goAway(lastStream: LastStream, LoopbackHTTP2Code)
  /// Resets the connection (TCP).
  case resetConnection
  /// Ends the connection in order, close_notify and FIN, without GOAWAY; then reads until the client closes.
  case close
  /// Closes the connection without close_notify: over TLS, a truncation.
  case closeWithoutNotify
  /// FIN, over TLS without close_notify; then reads until the client closes.
  case halfClose
  /// Sends half of a frame, HEADERS before the head and else DATA, then as ``close``.
  case truncateFrame
  /// END_STREAM, whatever `content-length` says.
  case endStream
  /// Sends frames, and goes on with the answer. ``LoopbackRequest/stream`` is the number to put into them.
  case send([LoopbackHTTP2Frame])
}
