// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import Testing

@testable import LastroWire

/// The strict response cases of llhttp (`test/response`): heads by themselves, and whole answers.
@Suite("llhttp's responses")
struct LLHTTPCorpusTests {
  /// Refused by llhttp for what comes after the head.
  static let bodyFaults: Set<String> = [
    "HTTP/1.1 with keep-alive disabled and 204 status", "HTTP/1.1 with keep-alive disabled, content-length",
    "Trailing space on chunked body", "No semicolon before chunk extensions", "No extension after semicolon",
    "Unbalanced chunk extensions quoting",
  ]

  /// Refused by llhttp, accepted here: a line may end in LF alone (RFC 9112 §2.2).
  static let leniencies: Set<String> = ["Only LFs present and no body", "Only LFs present", "No carriage ret"]

  /// Accepted by llhttp, refused here.
  static let strictnesses: Set<String> = [
    // Other protocols and versions.
    "RTSP response", "ICE response", "HTTP version 0.9",
    // RFC 9112 §2.2 lets servers skip an empty line before a message, not clients.
    "Response starting with CRLF", "HTTP 100 first, then 400",
    // No other transfer coding than chunked was offered (RFC 9112 §7.4).
    "`chunked` before other transfer-encoding", "multiple transfer-encoding where chunked is not the last one",
    "`chunkedchunked` transfer-encoding does not enable chunked enconding",
  ]

  @Test("each strict case gets llhttp's verdict, but for the differences listed")
  func strict() throws {
    let cases = try LLHTTPCase.strict()
    #expect(cases.count == 77)
    var differences: Set<String> = []
    for item in cases {
      let fed = HeadFeeding(item.input, untilFinal: true)
      #expect(fed.violation != nil || fed.final != nil, "\(item.name): no verdict")
      if (fed.violation == nil) != (item.error == nil) { differences.insert(item.name) }
    }
    #expect(differences == Self.bodyFaults.union(Self.leniencies).union(Self.strictnesses))
  }

  /// What the reader of whole answers makes of the cases otherwise than llhttp: the table of the engine's suite.
  static let answerDifferences: Set<String> = leniencies.union(strictnesses).union([
    // What follows a complete answer is the caller's to judge, `Connection: close` or not.
    "HTTP/1.1 with keep-alive disabled and 204 status", "HTTP/1.1 with keep-alive disabled, content-length",
    // Two answers, whose bodies the case adds up.
    "HTTP 304 with Content-Length", "HTTP 304 with Transfer-Encoding", "Should parse multiple events",
    // The case has the interim status, and stops a byte before the end of the body.
    "HTTP 103 first, then 200",
    // The bodies are noted without their line ends.
    "Response without `Content-Length`, but with body", "amazon.com",
    // They stop before the end: truncated.
    "Tabs in `Content-Length` (surrounding)", "Google 301", "Chunk extensions quoting",
  ])

  @Test("each strict case is read as the engine reads it, body and end included, in every split")
  func answers() throws {
    let cases = try LLHTTPCase.strict()
    #expect(cases.count == 77)
    var differences: Set<String> = []
    for item in cases {
      let (answer, differing) = AnswerFeeding.everySplit(
        of: Array(item.input), to: item.meta.skipBody == true ? .head : .ordinary, closes: true)
      #expect(differing.isEmpty, "\(item.name)")
      let isAlike =
        answer.violation != nil
        ? item.error != nil
        : item.error == nil && answer.head?.status == item.status
          && String(decoding: answer.body, as: UTF8.self) == item.body
      if !isAlike { differences.insert(item.name) }
    }
    #expect(differences == Self.answerDifferences)
  }
}
