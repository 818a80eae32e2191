// SPDX-License-Identifier: Apache-2.0

/// The outcome of an exchange.
package enum HTTP2Ending: Equatable, Sendable {
  /// The response is complete. Any unsent rest of the request is dropped.
  case whole
  /// The server reset the stream, and may have processed the request.
  case reset(HTTP2ErrorCode)
  /// The server did not process the request, so it is safe to retry (RFC 9113 §8.7).
  case unprocessed(HTTP2Unprocessed)
  /// The response breaks a rule or exceeds a limit, or the request's body does not match its length. We reset the
  /// stream.
  case broken(HTTP2Violation)
  /// The connection ended before the exchange did.
  case lost(HTTP2Loss)
}

package enum HTTP2Unprocessed: Equatable, Sendable {
  /// The request's head was never sent.
  case unsent
  /// The server sent RST_STREAM with REFUSED_STREAM before any part of a response.
  case refused
  /// A GOAWAY names an earlier stream as the last one processed.
  case aboveGoAway
  /// The server sent RST_STREAM with HTTP_1_1_REQUIRED before any part of a response.
  case http11Required
}

/// The reason why a connection ended.
package enum HTTP2Loss: Error, Equatable, Sendable {
  /// The byte stream ended or failed. The value is the code of the latest GOAWAY, unless that is NO_ERROR.
  case closed(HTTP2ErrorCode?)
  /// The server broke HTTP/2 or exceeded a limit.
  case violation(HTTP2Violation)
  /// A PING was not answered, and nothing else was received.
  case unanswered
}

/// The progress of a stream's request.
package enum HTTP2RequestPhase: Int, CaseIterable, Sendable {
  /// The head has not been sent.
  case queued
  case sending
  case sent
}

/// The progress of a stream's response.
package enum HTTP2AnswerPhase: Int, CaseIterable, Sendable {
  case waiting
  /// An interim response (1xx) was received.
  case interim
  /// The final head was received.
  case begun
  case whole
}

extension HTTP2Ending {
  /// Returns the outcome of an exchange that ends in this way, given the progress of its request and response. This is
  /// a pure function; `HTTP2EndingTests` lists every combination.
  package func outcome(request: HTTP2RequestPhase, answer: HTTP2AnswerPhase) -> HTTP2Ending {
    switch (answer, self) {
    // §8.1: a complete response remains valid, even if the stream is reset afterwards.
    case (.whole, _): .whole
    case (_, .whole), (_, .broken): self
    case (.waiting, _) where request == .queued: .unprocessed(.unsent)
    case (.waiting, .reset(.refusedStream)): .unprocessed(.refused)
    case (.waiting, .reset(.http11Required)): .unprocessed(.http11Required)
    // The server responded to a request that it claims not to have processed.
    case (.interim, .unprocessed), (.begun, .unprocessed): .reset(.refusedStream)
    default: self
    }
  }
}
