// SPDX-License-Identifier: Apache-2.0

/// A fault in a response over HTTP/2; ``Point`` determines its place.
package enum LoopbackHTTP2Fault: Sendable, Hashable {
  /// A point in a response.
  package enum Point: Sendable, Hashable {
    /// Instead of the response, or before it.
    case beforeHeaders
    /// Between the head and the body.
    case afterHeaders
    /// After the given number of body bytes.
    case body(after: Int)
  }

  /// The last stream that a GOAWAY names.
  package enum LastStream: Sendable, Hashable {
    /// The request's own stream: it is still answered (a graceful shutdown).
    case own
    /// The stream before the request's: the request was not processed, and is not answered.
    case before
    /// The given stream number.
    case id(UInt32)
  }

  /// Sends nothing more on this stream; other streams continue.
  case stall
  /// Stops reading and writing until the client abandons the connection.
  case stallConnection
  /// RST_STREAM.
  case resetStream(LoopbackHTTP2Code)
  /// GOAWAY. The streams up to the last one are still answered; then the connection ends like ``close``.
  case goAway(lastStream: LastStream, LoopbackHTTP2Code)
  /// Resets the connection (TCP).
  case resetConnection
  /// Ends the connection properly with close_notify and FIN, without GOAWAY; then reads until the client closes.
  case close
  /// Closes the connection without close_notify: over TLS, a truncation.
  case closeWithoutNotify
  /// FIN, over TLS without close_notify; then reads until the client closes.
  case halfClose
  /// Sends half of a frame (HEADERS before the head, otherwise DATA), then ends like ``close``.
  case truncateFrame
  /// END_STREAM, regardless of `content-length`.
  case endStream
  /// Sends bytes, then continues with the response.
  case send(bytes: [UInt8])

  /// Sends frames, then continues with the response. Use ``LoopbackRequest/stream`` as their stream number.
  package static func send(_ frames: [LoopbackHTTP2Frame]) -> Self { .send(bytes: frames.flatMap(\.bytes)) }
}
