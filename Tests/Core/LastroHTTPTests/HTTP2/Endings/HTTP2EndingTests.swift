// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroHTTP

@Suite("Outcomes of a closed HTTP/2 stream")
struct HTTP2EndingTests {
  private static let violation = HTTP2Violation(.field, "broken")

  private static let closings: [(name: String, closing: HTTP2Ending)] = [
    ("done", .whole), ("noError", .reset(.noError)), ("refused", .reset(.refusedStream)),
    ("http1", .reset(.http11Required)), ("calm", .reset(.enhanceYourCalm)), ("goAway", .unprocessed(.aboveGoAway)),
    ("broken", .broken(violation)), ("lost", .lost(.closed(nil))),
  ]

  /// Every combination of the progress of request and answer with the event that ends the stream.
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

  @Test("Each kind of end has the outcome of the table")
  func cells() {
    var rows = ["request answer " + Self.closings.map(\.name).joined(separator: " ")]
    for request in HTTP2RequestPhase.allCases {
      for answer in HTTP2AnswerPhase.allCases {
        let cells = Self.closings.map { Self.name($0.closing.outcome(request: request, answer: answer)) }
        rows.append("\(request) \(answer) " + cells.joined(separator: " "))
      }
    }
    let table = Self.table.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    #expect(rows == table)
  }

  @Test("An end is described by the name of its error code, or by its number")
  func codes() {
    #expect(HTTP2ErrorCode(rawValue: 0xFFFF_FFFF).description == "error code 4294967295")
    let codes: [HTTP2ErrorCode] = [
      .noError, .protocolError, .internalError, .flowControlError, .refusedStream, .cancel, .compressionError,
      .enhanceYourCalm, .inadequateSecurity, .http11Required,
    ]
    #expect(
      codes.map(\.description) == [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "REFUSED_STREAM", "CANCEL",
        "COMPRESSION_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
      ])
    let isNamed = (0...14).map { !HTTP2ErrorCode(rawValue: $0).description.hasPrefix("error code") }
    #expect(isNamed == Array(repeating: true, count: 14) + [false])
  }
}
