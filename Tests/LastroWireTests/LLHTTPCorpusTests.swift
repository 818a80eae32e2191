// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import Testing

@testable import LastroWire

/// The strict response cases of llhttp (`test/response`), as far as heads go.
@Suite("llhttp's responses")
struct LLHTTPCorpusTests {
  struct Case: Decodable {
    var name: String
    var type: String
    var input_b64: Data
    var error: String?
  }

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
    let cases = try JSONDecoder().decode([Case].self, from: ConformanceData.file("llhttp/responses.json"))
      .filter { $0.type == "response" || $0.type == "response-finish" }
    #expect(cases.count == 77)
    var differences: Set<String> = []
    for item in cases {
      let fed = HeadFeeding(item.input_b64, untilFinal: true)
      #expect(fed.violation != nil || fed.final != nil, "\(item.name): no verdict")
      if (fed.violation == nil) != (item.error == nil) { differences.insert(item.name) }
    }
    #expect(differences == Self.bodyFaults.union(Self.leniencies).union(Self.strictnesses))
  }
}
