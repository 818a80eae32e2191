// SPDX-License-Identifier: Apache-2.0

/// How an exchange came to its end.
package enum HTTP2Ending: Equatable, Sendable {
  /// The answer came to its end. What was left of the request, if anything, is not sent.
  case whole
  /// The server reset the stream, and may have processed the request.
  case reset(HTTP2ErrorCode)
  /// The server surely did not process the request (RFC 9113 §8.7).
  case unprocessed(HTTP2Unprocessed)
  /// The answer breaks a rule or a limit, or the request's body its own length. The stream was reset by us.
  case broken(HTTP2Violation)
  /// The connection ended first.
  case lost(HTTP2Loss)
}

package enum HTTP2Unprocessed: Equatable, Sendable {
  /// The request's head never went out.
  case unsent
  /// RST_STREAM with REFUSED_STREAM, and nothing of an answer.
  case refused
  /// GOAWAY names an earlier stream as the last one.
  case aboveGoAway
  /// RST_STREAM with HTTP_1_1_REQUIRED, and nothing of an answer.
  case http11Required
}

/// How a connection came to its end.
package enum HTTP2Loss: Error, Equatable, Sendable {
  /// The byte stream ended or broke; with the code of the latest GOAWAY, unless that is NO_ERROR.
  case closed(HTTP2ErrorCode?)
  /// The server broke HTTP/2 or a limit.
  case violation(HTTP2Violation)
  /// A PING had no answer, and nothing else came.
  case unanswered
}

/// How far the request of a stream has come.
package enum HTTP2RequestPhase: Int, CaseIterable, Sendable {
  /// Its head has not gone out.
  case queued
  case sending
  case sent
}

/// How far the answer of a stream has come.
package enum HTTP2AnswerPhase: Int, CaseIterable, Sendable {
  case waiting
  /// An interim answer (1xx) came.
  case interim
  /// The final head came.
  case begun
  case whole
}

/// What ends a stream.
package enum HTTP2Closing: Equatable, Sendable {
  /// Nothing is to come, and nothing to be sent.
  case done
  /// RST_STREAM came.
  case reset(HTTP2ErrorCode)
  /// GOAWAY came, with an earlier stream as the last one.
  case goAway
  /// We reset it.
  case broken(HTTP2Violation)
  case lost(HTTP2Loss)
}

extension HTTP2Ending {
  /// What an end means, by how far the stream had come. A pure function, whose cells `HTTP2EndingTests` lists.
  package init(_ closing: HTTP2Closing, request: HTTP2RequestPhase, answer: HTTP2AnswerPhase) {
    switch (answer, closing) {
    // §8.1: a whole answer stands, whatever comes behind it.
    case (.whole, _), (_, .done): self = .whole
    case (_, .broken(let violation)): self = .broken(violation)
    case (.waiting, _) where request == .queued: self = .unprocessed(.unsent)
    case (.waiting, .reset(.refusedStream)): self = .unprocessed(.refused)
    case (.waiting, .reset(.http11Required)): self = .unprocessed(.http11Required)
    case (.waiting, .goAway): self = .unprocessed(.aboveGoAway)
    // An answer to what was not processed: the server contradicts itself.
    case (_, .goAway): self = .reset(.refusedStream)
    case (_, .reset(let code)): self = .reset(code)
    case (_, .lost(let loss)): self = .lost(loss)
    }
  }
}
