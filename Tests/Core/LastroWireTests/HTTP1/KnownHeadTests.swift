// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import Testing

@testable import LastroWire

/// A machine that knows an earlier head gives the same verdicts as a machine without memory.
@Suite("Known heads")
struct KnownHeadTests {
  private static let heads = [
    "HTTP/1.1 200 OK\r\nServer: a\r\nDate: now\r\nContent-Length: 5\r\nConnection: close\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nDate: later\r\nContent-Length: 5\r\nConnection: close\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nDate: now\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nDate: now\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nDate: now\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nDate: now\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nTrailer: 1\r\n\r\n",
    "HTTP/1.0 200 OK\r\nServer: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nDate: now\r\n and then\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 5\r\n 6\r\n\r\n",
    "HTTP/1.1 200 OK\r\n Server: a\r\n\r\n",
    "HTTP/1.1 200 OK\nServer: a\nDate: now\nContent-Length: 5\n\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nDate: now\r\nContent-Length: 5\r\n\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nDate: now\r\nContent-Length: 5\r\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nDate: now\r\nContent-Length: 5\r\n \r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nDate: now\r\nContent-Length: 5\r\nConnection: close",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nServer: a\r\nDate: now\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nServer: a\r\n\r\n",
    "HTTP/1.1 204 No Content\r\nServer: a\r\nDate: now\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nA: 1\r\nB 2\r\n\r\n", "HTTP/2 200 \r\nserver: a\r\n\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nDate: Sch\u{F6}n\r\nContent-Length: 5\r\n\r\n", "\r\n", "",
    "HTTP/1.1 200 OK\r\n" + (1...40).map { "F\($0): \($0)\r\n" }.joined() + "\r\n",
    "HTTP/1.1 200 OK\r\n" + (1...31).map { "F\($0): \($0)\r\n" }.joined() + "\r\n",
    "HTTP/1.1 200 OK\r\nServer: a\r\nCookie: " + String(repeating: "x", count: 5_000) + "\r\n\r\n",
  ].map { Array($0.utf8) }

  private static func corpus() throws -> [[UInt8]] {
    try heads + LLHTTPCase.all().map { Array($0.input) }
  }

  private static func known(_ bytes: [UInt8]) -> KnownHead? {
    HeadFeeding(bytes).machine.known
  }

  /// Returns the heads with another line inserted after each of their lines.
  private static func variants() -> [[UInt8]] {
    let lines = ["Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", " folded\r\n", "\r\n", "no colon\r\n"]
    var result: [[UInt8]] = []
    for bytes in heads.prefix(20) {
      for (index, byte) in bytes.enumerated() where byte == 0x0A {
        for line in lines {
          var variant = bytes
          variant.insert(contentsOf: line.utf8, at: index + 1)
          result.append(variant)
        }
      }
    }
    return result
  }

  private static func expectSameVerdict(_ bytes: [UInt8], after known: [KnownHead], bytes size: Int, fields: Int) {
    let lines = HeadFeeding.lines(bytes)
    func feed(_ known: KnownHead?) -> HeadFeeding {
      HeadFeeding(
        lines: lines, maximumHeadBytes: size, maximumFields: fields, maximumInterimResponses: 1, resembling: known)
    }
    let alone = feed(nil)
    for known in known where feed(known) != alone {
      Issue.record("\(String(decoding: bytes, as: UTF8.self)) after \(known.head)")
    }
  }

  @Test("After any head every head has the same result as alone")
  func verdicts() throws {
    let corpus = try Self.corpus()
    let known = Self.heads.compactMap(Self.known)
    #expect(known.count > 10)
    for bytes in corpus { Self.expectSameVerdict(bytes, after: known, bytes: 65_536, fields: 100) }
    for (size, fields) in [(65_536, 3), (60, 100)] {
      for bytes in Self.heads { Self.expectSameVerdict(bytes, after: known, bytes: size, fields: fields) }
    }
    for bytes in Self.variants() {
      Self.expectSameVerdict(bytes, after: Array(known.prefix(8)), bytes: 65_536, fields: 100)
    }
  }

  @Test("A line of zero bytes is refused at every position of a known head")
  func nothing() throws {
    let known = try #require(Self.known(Self.heads[0]))
    for count in 0..<known.lineCount {
      let lines = HeadFeeding.lines(Self.heads[0]).prefix(count) + [[]]
      #expect(HeadFeeding(lines: Array(lines), resembling: known).violation?.kind == .lineEnd)
    }
  }

  @Test("An identical head is not parsed again")
  func repeated() throws {
    let known = try #require(Self.known(Self.heads[0]))
    let again = HeadFeeding(Self.heads[0], resembling: known)
    #expect(again.machine.known === known)
    #expect(again.final == known.head)
    #expect(again.machine.framing.contentLength == 5)
  }

  @Test("A head with one changed line replaces the known one")
  func another() throws {
    let known = try #require(Self.known(Self.heads[0]))
    let other = HeadFeeding(Self.heads[1], resembling: known)
    let kept = try #require(other.machine.known)
    #expect(kept !== known)
    #expect(kept.head.fields.map(\.value) == ["a", "later", "5", "close"])
    #expect(HeadFeeding(Self.heads[1], resembling: kept).machine.known === kept)
  }

  @Test("Unusual heads are not kept: folds, more than 31 fields, more than 4 KiB")
  func bounds() throws {
    for bytes in Self.heads {
      guard let known = Self.known(bytes) else { continue }
      #expect(known.lineCount <= 32)
      #expect(known.head.fields.allSatisfy { $0.value.utf8.count < 4_096 })
    }
    #expect(Self.known(Self.heads[9]) == nil, "a folded line")
    #expect(Self.known(Self.heads[Self.heads.count - 1]) == nil, "5,000 bytes")
    #expect(Self.known(Self.heads[Self.heads.count - 2]) != nil, "31 fields")
    #expect(Self.known(Self.heads[Self.heads.count - 3]) == nil, "40 fields")
  }
}
