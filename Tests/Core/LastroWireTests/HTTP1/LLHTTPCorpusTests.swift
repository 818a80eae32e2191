// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import Testing

@testable import LastroWire

/// llhttp's strict response cases (`test/response`), as heads alone and as whole responses.
@Suite("Llhttp's responses")
struct LLHTTPCorpusTests {
  /// The cases that llhttp refuses because of bytes after the head.
  static let bodyFaults: Set<String> = [
    "HTTP/1.1 with keep-alive disabled and 204 status", "HTTP/1.1 with keep-alive disabled, content-length",
    "Trailing space on chunked body", "No semicolon before chunk extensions", "No extension after semicolon",
    "Unbalanced chunk extensions quoting",
  ]

  /// The cases that llhttp refuses and we accept: a line may end in LF alone (RFC 9112 §2.2).
  static let leniencies: Set<String> = ["Only LFs present and no body", "Only LFs present", "No carriage ret"]

  /// The cases that llhttp accepts and we refuse.
  static let strictnesses: Set<String> = [
    // These are other protocols and versions.
    "RTSP response", "ICE response", "HTTP version 0.9",
    // RFC 9112 §2.2 lets servers skip an empty line before a message, but not clients.
    "Response starting with CRLF", "HTTP 100 first, then 400",
    // The client offers no transfer coding other than chunked (RFC 9112 §7.4).
    "`chunked` before other transfer-encoding", "multiple transfer-encoding where chunked is not the last one",
    "`chunkedchunked` transfer-encoding does not enable chunked enconding",
  ]

  @Test("Each strict case has llhttp's result, except for the listed differences")
  func strict() throws {
    let cases = try LLHTTPCase.strict()
    #expect(cases.count == 77)
    var differences: Set<String> = []
    for item in cases {
      let fed = HeadFeeding(item.input)
      #expect(fed.violation != nil || fed.final != nil, "\(item.name): no verdict")
      if (fed.violation == nil) != (item.error == nil) { differences.insert(item.name) }
    }
    #expect(differences == Self.bodyFaults.union(Self.leniencies).union(Self.strictnesses))
  }

  /// The cases that the reader of whole responses reads in a way other than llhttp. The engine's suite has the same
  /// table.
  static let answerDifferences: Set<String> = leniencies.union(strictnesses).union([
    // The caller decides about bytes that follow a complete response, with or without `Connection: close`.
    "HTTP/1.1 with keep-alive disabled and 204 status", "HTTP/1.1 with keep-alive disabled, content-length",
    // These cases have two responses and count the bytes of both bodies.
    "HTTP 304 with Content-Length", "HTTP 304 with Transfer-Encoding", "Should parse multiple events",
    // The case reports the interim status, and stops one byte before the end of the body.
    "HTTP 103 first, then 200",
    // The cases omit the line ends of the body.
    "Response without `Content-Length`, but with body", "amazon.com",
    // These cases stop before the end of the message, so they are truncated.
    "Tabs in `Content-Length` (surrounding)", "Google 301", "Chunk extensions quoting",
  ])

  @Test("Each strict case is read as by the engine, body and end included, in every split")
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
