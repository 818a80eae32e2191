// SPDX-License-Identifier: Apache-2.0

/// What an end of an exchange means for its caller. A pure function of the error code, of the status, or of the ending.
package struct HTTP2Verdict: Equatable, Sendable {
  /// How the failure is told.
  package enum Failure: Equatable, Sendable {
    /// The answer is whole.
    case none
    /// `http2_failure`.
    case http2
    /// The TLS of the connection is not good enough for the server (RFC 9113 §9.2).
    case tls
    /// The connection ended: `connection_lost`, or `truncated_body` once a head had come.
    case connection
  }

  /// Whether the request may be sent again.
  package enum Resend: Equatable, Sendable {
    /// Under no circumstances.
    case never
    /// Where the caller's policy has it, if the method is idempotent and the body can be given again.
    case byPolicy
    /// As ``byPolicy``, not at once.
    case afterWait
    /// Any method, once a call, without asking: the server did not process it.
    case once
    /// As ``once``, on a connection of its own.
    case onceElsewhere
    /// As ``once``, over HTTP/1.1. The server wants the same of later requests.
    case onceOverHTTP1
  }

  package var failure: Failure
  package var resend: Resend
  /// Whether the server surely did not process the request.
  package var isUnprocessed = false
  /// Whether the connection is not to be used for further requests.
  package var closesConnection = false
}

extension HTTP2ErrorCode {
  /// What RST_STREAM or GOAWAY with this code means for an exchange that had no whole answer.
  ///
  /// REFUSED_STREAM is as it says only where nothing of an answer came: ``HTTP2Ending`` looks at that.
  package var verdict: HTTP2Verdict {
    switch self {
    case .refusedStream: HTTP2Verdict(failure: .http2, resend: .once, isUnprocessed: true)
    case .http11Required: HTTP2Verdict(failure: .http2, resend: .onceOverHTTP1, isUnprocessed: true)
    case .enhanceYourCalm: HTTP2Verdict(failure: .http2, resend: .afterWait)
    case .inadequateSecurity: HTTP2Verdict(failure: .tls, resend: .never, closesConnection: true)
    case .flowControlError, .settingsTimeout, .connectError:
      HTTP2Verdict(failure: .http2, resend: .byPolicy, closesConnection: true)
    default: HTTP2Verdict(failure: .http2, resend: .byPolicy)
    }
  }
}

extension HTTP2Ending {
  /// What it means for the caller.
  package var verdict: HTTP2Verdict {
    switch self {
    case .whole: return HTTP2Verdict(failure: .none, resend: .never)
    case .reset(let code):
      guard code == .refusedStream || code == .http11Required else { return code.verdict }
      return HTTP2Verdict(failure: .http2, resend: .byPolicy)
    case .unprocessed(.http11Required): return HTTP2ErrorCode.http11Required.verdict
    case .unprocessed: return HTTP2ErrorCode.refusedStream.verdict
    case .broken: return HTTP2Verdict(failure: .http2, resend: .byPolicy)
    case .lost(.closed(nil)), .lost(.unanswered):
      return HTTP2Verdict(failure: .connection, resend: .byPolicy, closesConnection: true)
    case .lost(.violation): return HTTP2Verdict(failure: .http2, resend: .byPolicy, closesConnection: true)
    case .lost(.closed(let code?)):
      var verdict = code.verdict
      // What GOAWAY says of a connection says nothing of a stream that it lets run on.
      verdict.isUnprocessed = false
      if verdict.resend == .once || verdict.resend == .onceOverHTTP1 { verdict.resend = .byPolicy }
      verdict.closesConnection = true
      return verdict
    }
  }

  /// What a status means that was received over HTTP/2: 421 says that this connection is not for that host (RFC 9110
  /// §15.5.20).
  package static func verdict(status: Int) -> HTTP2Verdict {
    HTTP2Verdict(failure: .none, resend: status == 421 ? .onceElsewhere : .never, isUnprocessed: status == 421)
  }
}
