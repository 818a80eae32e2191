// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroHTTP2

@Suite("What the end of an HTTP/2 stream means")
struct HTTP2EndingTests {
  private static let violation = HTTP2Violation(.field, "broken")

  private static let closings: [(name: String, closing: HTTP2Closing)] = [
    ("done", .done), ("noError", .reset(.noError)), ("refused", .reset(.refusedStream)),
    ("http1", .reset(.http11Required)), ("calm", .reset(.enhanceYourCalm)), ("goAway", .goAway),
    ("broken", .broken(violation)), ("lost", .lost(.closed(nil))),
  ]

  /// Every cell: how far request and answer had come, and what ended the stream.
  static let table = """
    request answer  done  noError  refused  http1    calm    goAway   broken lost
    queued  waiting whole unsent   unsent   unsent   unsent  unsent   broken unsent
    queued  interim whole reset(0) reset(7) reset(13) reset(11) reset(7) broken lost
    queued  begun   whole reset(0) reset(7) reset(13) reset(11) reset(7) broken lost
    queued  whole   whole whole    whole    whole    whole   whole    whole  whole
    sending waiting whole reset(0) refused  http1    reset(11) above  broken lost
    sending interim whole reset(0) reset(7) reset(13) reset(11) reset(7) broken lost
    sending begun   whole reset(0) reset(7) reset(13) reset(11) reset(7) broken lost
    sending whole   whole whole    whole    whole    whole   whole    whole  whole
    sent    waiting whole reset(0) refused  http1    reset(11) above  broken lost
    sent    interim whole reset(0) reset(7) reset(13) reset(11) reset(7) broken lost
    sent    begun   whole reset(0) reset(7) reset(13) reset(11) reset(7) broken lost
    sent    whole   whole whole    whole    whole    whole   whole    whole  whole
    """

  private static func name(_ ending: HTTP2Ending) -> String {
    switch ending {
    case .whole: "whole"
    case .reset(let code): "reset(\(code.rawValue))"
    case .unprocessed(.unsent): "unsent"
    case .unprocessed(.refused): "refused"
    case .unprocessed(.aboveGoAway): "above"
    case .unprocessed(.http11Required): "http1"
    case .broken: "broken"
    case .lost: "lost"
    }
  }

  @Test("is as the table has it, in every cell")
  func cells() {
    var rows = ["request answer " + Self.closings.map(\.name).joined(separator: " ")]
    for request in HTTP2RequestPhase.allCases {
      for answer in HTTP2AnswerPhase.allCases {
        let cells = Self.closings.map { Self.name(HTTP2Ending($0.closing, request: request, answer: answer)) }
        rows.append("\(request) \(answer) " + cells.joined(separator: " "))
      }
    }
    let table = Self.table.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    #expect(rows == table)
  }

  /// The table of error codes: failure, resend, and what else is known.
  static let codes: [(HTTP2ErrorCode, HTTP2Verdict)] = [
    (.noError, HTTP2Verdict(failure: .http2, resend: .byPolicy)),
    (.protocolError, HTTP2Verdict(failure: .http2, resend: .byPolicy)),
    (.internalError, HTTP2Verdict(failure: .http2, resend: .byPolicy)),
    (.flowControlError, HTTP2Verdict(failure: .http2, resend: .byPolicy, closesConnection: true)),
    (.settingsTimeout, HTTP2Verdict(failure: .http2, resend: .byPolicy, closesConnection: true)),
    (.streamClosed, HTTP2Verdict(failure: .http2, resend: .byPolicy)),
    (.frameSizeError, HTTP2Verdict(failure: .http2, resend: .byPolicy)),
    (.refusedStream, HTTP2Verdict(failure: .http2, resend: .once, isUnprocessed: true)),
    (.cancel, HTTP2Verdict(failure: .http2, resend: .byPolicy)),
    (.compressionError, HTTP2Verdict(failure: .http2, resend: .byPolicy)),
    (.connectError, HTTP2Verdict(failure: .http2, resend: .byPolicy, closesConnection: true)),
    (.enhanceYourCalm, HTTP2Verdict(failure: .http2, resend: .afterWait)),
    (.inadequateSecurity, HTTP2Verdict(failure: .tls, resend: .never, closesConnection: true)),
    (.http11Required, HTTP2Verdict(failure: .http2, resend: .onceOverHTTP1, isUnprocessed: true)),
  ]

  @Test("follows from the error code", arguments: codes)
  func verdicts(code: HTTP2ErrorCode, verdict: HTTP2Verdict) { #expect(code.verdict == verdict) }

  @Test("is an internal error for a code without a name")
  func unknownCode() {
    let unknown = HTTP2ErrorCode(rawValue: 0xFFFF_FFFF)
    #expect(unknown.verdict == HTTP2ErrorCode.internalError.verdict)
    #expect(unknown.description == "error code 4294967295")
    #expect(Self.codes.map(\.0) == HTTP2ErrorCode.named.map(\.code))
    #expect(HTTP2ErrorCode.http11Required.description == "HTTP_1_1_REQUIRED")
  }

  @Test("allows a resend of any method only where nothing was processed")
  func resends() {
    let once: [HTTP2Ending] = [
      .unprocessed(.unsent), .unprocessed(.refused), .unprocessed(.aboveGoAway), .unprocessed(.http11Required),
    ]
    for ending in once {
      #expect(ending.verdict.isUnprocessed)
      #expect(ending.verdict.resend == (ending == .unprocessed(.http11Required) ? .onceOverHTTP1 : .once))
    }
    let others: [HTTP2Ending] =
      [.broken(Self.violation), .lost(.unanswered), .lost(.violation(Self.violation)), .lost(.closed(nil))]
      + HTTP2ErrorCode.named.flatMap { [.reset($0.code), .lost(.closed($0.code))] }
    for ending in others {
      #expect(!ending.verdict.isUnprocessed, "\(ending)")
      #expect([.byPolicy, .afterWait, .never].contains(ending.verdict.resend), "\(ending)")
      #expect(ending.verdict.failure != .none)
    }
    #expect(HTTP2Ending.whole.verdict == HTTP2Verdict(failure: .none, resend: .never))
    #expect(HTTP2Ending.lost(.closed(.enhanceYourCalm)).verdict.resend == .afterWait)
  }

  @Test("is another connection for 421, and nothing for other statuses")
  func misdirected() {
    #expect(HTTP2Ending.verdict(status: 421).resend == .onceElsewhere)
    #expect(HTTP2Ending.verdict(status: 421).isUnprocessed)
    for status in [200, 404, 420, 422, 503] { #expect(HTTP2Ending.verdict(status: status).resend == .never) }
  }
}
