// SPDX-License-Identifier: Apache-2.0

package import LastroWire

/// The identity of a request and its response on one connection.
package struct HTTP2Stream: Hashable, Sendable {
  /// The stream's number on the wire.
  package let number: Int32
  /// A small number that is unique among the session's open streams. The owner can use it as an index.
  package let slot: Int
}

/// An event that a session reports to its owner. Events are reported in order.
package enum HTTP2Event: Equatable, Sendable {
  /// An interim response (1xx) was received. The final response follows.
  case interim(HTTP2Stream, ResponseHead)
  case head(HTTP2Stream, ResponseHead)
  /// Bytes of the body were received. The range is their position in the input. Call `HTTP2Session.consumed(_:on:)` to
  /// return their credit.
  case body(HTTP2Stream, Range<Int>)
  /// Trailers were received. Fields that are forbidden in trailers have been removed.
  case trailers(HTTP2Stream, [ResponseHead.Field])
  /// The response, whose status is below 300, is complete before the request. The stream is still open, and the rest of
  /// the request is sent until the server resets the stream. An owner that does not want to send more resets it with
  /// `noError`.
  case answered(HTTP2Stream)
  /// The session has room for more of the request's body.
  case wantsBody(HTTP2Stream)
  /// The server responded with a status of 300 or above while the request was being sent. No more of the request is
  /// sent; the response is still read.
  case stopsBody(HTTP2Stream)
  /// The last event of a stream.
  case closed(HTTP2Stream, HTTP2Ending)
  /// The number of streams that may be opened may have changed.
  case capacity
  /// The connection takes no new requests, because the server sent GOAWAY, does not answer, or resets almost every
  /// stream, because stream numbers are used up, or because the connection has ended. Running requests continue, unless
  /// they have been closed before.
  case retired
}
