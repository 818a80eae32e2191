// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// llhttp's strict response cases, over sockets and over streams. A table lists the cases that we read differently, each
/// with its reason. The table is exact: a change on either side fails.
@Suite("Conformance: llhttp", .overEachLink, .timeLimit(.minutes(15)))
struct LlhttpTests {
  enum Reason: Sendable {
    /// The case has several messages, or stops before its end, or is written without line ends. A client that reads one
    /// answer per request gets a different result, and both results are right.
    case otherQuestion
    /// We refuse what llhttp accepts.
    case stricter
    /// We accept a message that llhttp refuses; `Docs/Wire.md` lists these.
    case lenient
  }

  static let differences: [String: Reason] = [
    // We close the connection if bytes follow a complete answer, with or without `Connection: close`.
    "HTTP/1.1 with keep-alive disabled and 204 status": .otherQuestion,
    "HTTP/1.1 with keep-alive disabled, content-length": .otherQuestion,
    // These cases have two answers and count the bytes of both bodies.
    "HTTP 304 with Content-Length": .otherQuestion,
    "HTTP 304 with Transfer-Encoding": .otherQuestion,
    "Should parse multiple events": .otherQuestion,
    // The case reports the interim status, and stops one byte before the end of the body.
    "HTTP 103 first, then 200": .otherQuestion,
    // The case omits the line ends of the body.
    "Response without `Content-Length`, but with body": .otherQuestion,
    "amazon.com": .otherQuestion,
    // These cases stop before the end of the message, so we report a truncated answer.
    "Tabs in `Content-Length` (surrounding)": .otherQuestion,
    "Google 301": .otherQuestion,
    "Chunk extensions quoting": .otherQuestion,
    // These are other protocols, and an HTTP version without a status line.
    "RTSP response": .stricter,
    "ICE response": .stricter,
    "HTTP version 0.9": .stricter,
    // An empty line precedes the status line. RFC 9112 §2.2 lets servers skip it, but not clients.
    "Response starting with CRLF": .stricter,
    "HTTP 100 first, then 400": .stricter,
    // RFC 9112 §6.1: chunked must be the last coding, and we cannot decode unknown ones.
    "`chunked` before other transfer-encoding": .stricter,
    "multiple transfer-encoding where chunked is not the last one": .stricter,
    "`chunkedchunked` transfer-encoding does not enable chunked enconding": .stricter,
    // RFC 9112 §2.2: a recipient may accept LF alone as the end of a line.
    "Only LFs present and no body": .lenient,
    "Only LFs present": .lenient,
    "No carriage ret": .lenient,
  ]

  @Test("Each of llhttp's strict responses has the expected outcome")
  func corpus() async throws {
    let cases = try LLHTTPCase.strict()
    #expect(cases.count == 77)
    let engine = try LinkKind.current.engine()
    var different: Set<String> = []
    for item in cases {
      let isRight = try await Self.isRight(item, engine)
      if !isRight { different.insert(item.name) }
    }
    let known = Set(Self.differences.keys)
    #expect(different.subtracting(known) == [], "reads differently from llhttp and is not listed")
    #expect(known.subtracting(different) == [], "is listed but reads alike")
    #expect(await eventually { engine.activeTransfers == 0 })
  }

  private static func isRight(_ item: LLHTTPCase, _ engine: any LinkedEngine) async throws -> Bool {
    let input = Array(item.input)
    let server = try LoopbackServer { connection in
      guard try connection.readHead() != nil else { return }
      try connection.write(input)
    }
    let outcome = await engine.outcome(server, method: item.meta.skipBody == true ? .head : .get) {
      $0.idleTimeout = .seconds(10)
    }
    #expect(server.requests.count == 1, "\(item.name)")
    switch outcome {
    case .failed(let word):
      #expect(word.hasPrefix("response/") || word.hasPrefix("limit/"), "\(item.name)")
      return item.error != nil
    case .answered(let status, let body): return item.error == nil && item.status == status && item.body == body
    }
  }
}
