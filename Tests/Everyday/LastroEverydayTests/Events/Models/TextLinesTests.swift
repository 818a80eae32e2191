// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroEveryday
import LastroTesting
import TestSupport
import Testing

@Suite("Lines of text", .timeLimit(.minutes(15)))
struct TextLinesTests {
  private func read(
    _ pieces: String..., failure: TransportError? = nil, maximumBytes: Int = 8
  ) async throws -> [String] {
    let body = ResponseBody(source: ChunkSource(pieces.map { Data($0.utf8) }, failure: failure))
    var lines = body.lines(maximumBytes: maximumBytes).makeAsyncIterator()
    var texts: [String] = []
    do throws(TransportError) {
      while let line = try await lines.next(isolation: #isolation) { texts.append(line) }
    } catch {
      texts.append(error.words)
      let end = try await lines.next(isolation: #isolation)
      #expect(end == nil)
    }
    return texts
  }

  @Test("Lines end in LF or CRLF in any split, may be empty, and the last may be unterminated")
  func lines() async throws {
    let text = "one\r\n\nt\rwo\n\u{E9}\n\nlast"
    let expected = ["one", "", "t\rwo", "\u{E9}", "", "last"]
    #expect(try await read(text) == expected)
    let bytes = Array(text.utf8)
    let body = ResponseBody(source: ChunkSource(bytes.map { Data([$0]) }))
    var found: [String] = []
    for try await line in body.lines { found.append(line) }
    #expect(found == expected)
    #expect(try await read("ended\n") == ["ended"])
    #expect(try await read() == [])
  }

  @Test("Half a line of a truncated body, and a line over the limit, are not returned")
  func failures() async throws {
    #expect(
      try await read("one\ntw", failure: TransportError(stage: .response, code: .truncatedBody, message: "cut"))
        == ["one", "response/truncated_body"])
    #expect(try await read("12345678\n", "123456789", "x") == ["12345678", "limit/event_too_large"])
    #expect(try await read("a\n", maximumBytes: 0) == ["limit/event_too_large"])
  }

  @Test("Errors of the lines of a stream name its request, without secrets")
  func request() async throws {
    let cut = TransportError(stage: .response, code: .truncatedBody, message: "cut", requestSent: true)
    let stack = eventStack(ScriptedTransport([.stream(["one\ntw"], failure: cut), .stream(["123456789"])]))
    for code in ["response/truncated_body: cut", "limit/event_too_large: a line of the body is longer than 8 bytes"] {
      let body = try await stack.stream(RawHTTPResource.test(url: "https://example.com/log?token=hush")).value
      let error = try await transportError { for try await _ in body.lines(maximumBytes: 8) {} }
      #expect("\(error)".hasPrefix("\(code); GET https://example.com/log?token=***"), "\(error)")
    }
  }

  @Test("The limit excludes line ends, in any split")
  func limitWithoutEnds() async throws {
    let tooLarge = "limit/event_too_large"
    for (text, expected) in [
      ("12345678\r\nx\n", ["12345678", "x"]), ("12345678\r", ["12345678"]), ("123456789\r\n", [tooLarge]),
      ("12345678\r\r\n", [tooLarge]), ("12345678\rx", [tooLarge]), ("1234567\rx\r\n", [tooLarge]),
      ("123456\rx\r\n", ["123456\rx"]),
    ] {
      let bytes = Array(text.utf8)
      for split in 0...bytes.count {
        let pieces = [bytes[..<split], bytes[split...]].map { String(decoding: $0, as: UTF8.self) }
        #expect(try await read(pieces[0], pieces[1]) == expected, "\(expected), split at \(split)")
      }
    }
    #expect(try await read("\r\n\n", maximumBytes: 0) == ["", ""])
  }

  @Test("A streamed response to a POST is read line by line")
  func posted() async throws {
    let transport = ScriptedTransport([
      .respond(status: 200, body: "a\nb"), .respond(status: 400, body: #"{"why":"no"}"#),
    ])
    let stack = TransportNetworkStack(transport: transport)
    let export = HTTPResource<ResponseBody, Problem>.post("https://example.com/export", json: ["of": "all"])
    var lines: [String] = []
    for try await line in try await stack.stream(export).value.lines { lines.append(line) }
    #expect(lines == ["a", "b"])
    let head = try #require(transport.requests.first?.head)
    #expect(head.method == .post && head.headerFields[.contentType] == "application/json")
    let failing = { try await stack.stream(.post("https://example.com/export", json: [1], or: Problem.self)) }
    await #expect { _ = try await failing() } throws: {
      ($0 as? HTTPFetchError<Problem>)?.apiError?.why == "no"
    }
  }
}

private struct Problem: Error, Decodable {
  let why: String
}
