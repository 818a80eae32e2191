// SPDX-License-Identifier: Apache-2.0

package import LastroWire

/// A request and its answer on one connection.
package struct HTTP2Stream: Hashable, Sendable {
  /// Its number on the wire.
  package let number: Int32
  /// A small number that no other open stream of the session has: an index for what the owner knows of it.
  package let slot: Int
}

/// What the owner of a session has to know, in order.
package enum HTTP2Event: Equatable, Sendable {
  /// A 1xx answer; the final one is still to come.
  case interim(HTTP2Stream, ResponseHead)
  case head(HTTP2Stream, ResponseHead)
  /// Bytes of the body: where they lie in what was received. `HTTP2Session.consumed(_:on:)` gives their credit back.
  case body(HTTP2Stream, Range<Int>)
  /// Fields behind the body, without those that may not stand there.
  case trailers(HTTP2Stream, [ResponseHead.Field])
  /// The answer, whose status is below 300, is whole and the request is not. The stream is still open, and the rest of
  /// the request goes out until the server resets the stream: an owner that sends no more resets it with `noError`.
  case answered(HTTP2Stream)
  /// More of the request's body may be provided.
  case wantsBody(HTTP2Stream)
  /// The server responds with a status of 300 or above while the request is sent: no more of it is sent, the answer is
  /// read.
  case stopsBody(HTTP2Stream)
  /// The last event of a stream.
  case closed(HTTP2Stream, HTTP2Ending)
  /// The number of streams that may be opened may have changed.
  case capacity
  /// No new requests are taken; those up to the last stream run on.
  case goingAway(HTTP2GoAway)
  /// The server does not answer, or resets almost every stream: no new requests are taken, and the running ones finish.
  case unhealthy
  /// Every stream has been closed before. What is left to be sent is sent, and the connection closed.
  case failed(HTTP2Loss)
}

extension HTTP2Event {
  /// Of which stream it tells; `nil` for the connection.
  package var stream: HTTP2Stream? {
    switch self {
    case .interim(let stream, _), .head(let stream, _), .body(let stream, _), .trailers(let stream, _): stream
    case .answered(let stream), .wantsBody(let stream), .stopsBody(let stream), .closed(let stream, _): stream
    case .capacity, .goingAway, .unhealthy, .failed: nil
    }
  }
}

/// A GOAWAY frame (RFC 9113 §6.8).
package struct HTTP2GoAway: Equatable, Sendable {
  /// Later streams are not processed; those that there are have been closed so.
  package var lastStream: Int32
  package var code: HTTP2ErrorCode
  /// What the server says, at most 256 bytes of it.
  package var text: String
}
