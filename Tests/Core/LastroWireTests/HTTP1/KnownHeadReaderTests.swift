// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import Testing

@testable import LastroWire

/// A reader with a known head compares a response's head with it, first as a whole and then in parts. Its verdicts
/// equal those of a reader without memory.
@Suite("Answers whose heads come again")
struct KnownHeadReaderTests {
  private static let nginx = Array(
    ("HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sun, 22 Nov 2026 21:48:38 GMT\r\nContent-Type: text/plain\r\n"
      + "Content-Length: 5\r\nConnection: keep-alive\r\nETag: \"6561d0f0-400\"\r\n\r\nhello").utf8)

  private static func corpus() throws -> [[UInt8]] {
    try [nginx] + LLHTTPCase.all().map { Array($0.input) }
  }

  /// Returns whether the verdicts with and without memory differ, in one piece, in two pieces, or byte by byte.
  private static func differs(
    _ bytes: [UInt8], _ known: KnownHead, limits: ExchangeLimits = ExchangeLimits(), cut: Int
  ) -> Bool {
    let splits = [[bytes[...]], [bytes[..<cut], bytes[cut...]], bytes.indices.map { bytes[$0...$0] }]
    return splits.contains { parts in
      AnswerFeeding(parts, limits: limits, closes: true, resembling: known)
        != AnswerFeeding(parts, limits: limits, closes: true)
    }
  }

  @Test("every answer of the corpus, after the head of every other")
  func corpusAfterCorpus() throws {
    let corpus = try Self.corpus()
    let known = corpus.compactMap { AnswerFeeding.known($0) }
    #expect(known.count > 20)
    for (index, bytes) in corpus.enumerated() {
      for known in known where Self.differs(bytes, known, cut: (index * 7) % (bytes.count + 1)) {
        Issue.record("\(String(decoding: bytes, as: UTF8.self)) after \(known.head)")
      }
    }
  }

  @Test("an answer with any byte changed, taken out, put in or doubled, after the answer itself")
  func mutations() throws {
    var corpus = try Self.corpus().filter { AnswerFeeding.known($0) != nil && $0.count < 400 }
    corpus.removeSubrange(3...)
    for original in corpus {
      let known = try #require(AnswerFeeding.known(original))
      for index in original.indices {
        for byte in [0x09, 0x0A, 0x0D, 0x31, 0x3A, 0xC3] as [UInt8] {
          var changed = original, longer = original
          changed[index] = byte
          longer.insert(byte, at: index)
          for bytes in [changed, longer] where Self.differs(bytes, known, cut: index) {
            Issue.record("\(String(decoding: bytes, as: UTF8.self))")
          }
        }
        var shorter = original
        shorter.remove(at: index)
        if Self.differs(shorter, known, cut: index) { Issue.record("\(String(decoding: shorter, as: UTF8.self))") }
      }
    }
  }

  @Test("a line put in, taken out, or put in another's place, after the answer itself")
  func lines() throws {
    let known = try #require(AnswerFeeding.known(Self.nginx))
    let own = HeadFeeding.lines(Self.nginx.dropLast(5))
    let others = [
      "Content-Length: 6\r\n", "Content-Length: 5\r\n", "content-length: +5\r\n", "Transfer-Encoding: chunked\r\n",
      "Connection: close\r\n", "Set-Cookie: a=b\r\n", "Content-Encoding: gzip\r\n", " folded\r\n", "\r\n", "\n",
      "no colon\r\n", "X-Long: \(String(repeating: "x", count: 5_000))\r\n", "HTTP/1.0 200 OK\r\n",
      "HTTP/1.1 204 No\r\n", "X: \u{0}\r\n", "HTTP/1.1 100 C\r\n", "X: 1\n", "X: 1\r\r\n",
    ].map { Array($0.utf8) }
    for index in own.indices {
      for other in others {
        var changed = own, longer = own
        changed[index] = other
        longer.insert(other, at: index)
        for lines in [changed, longer] {
          let bytes = lines.flatMap(\.self) + Array("hello".utf8)
          for limits in [ExchangeLimits(), ExchangeLimits(headBytes: 200, fields: 6), ExchangeLimits(fields: 5)] {
            if Self.differs(bytes, known, limits: limits, cut: bytes.count / 2) {
              Issue.record("\(String(decoding: bytes, as: UTF8.self)), \(limits)")
            }
          }
          // The head that is kept equals the one that would be kept without memory.
          let kept = AnswerFeeding.known(bytes, resembling: known)
          let alone = AnswerFeeding.known(bytes)
          #expect(kept?.head == alone?.head && kept?.framing == alone?.framing)
          #expect(kept?.isPersistent == alone?.isPersistent && kept?.lines == alone?.lines)
        }
      }
    }
  }

  @Test("limits of bytes and fields hold at the same place")
  func limits() throws {
    let known = try #require(AnswerFeeding.known(Self.nginx))
    for size in 1...Self.nginx.count {
      #expect(!Self.differs(Self.nginx, known, limits: ExchangeLimits(headBytes: size), cut: 40), "\(size)")
    }
    for fields in 0...8 {
      #expect(!Self.differs(Self.nginx, known, limits: ExchangeLimits(fields: fields), cut: 40), "\(fields)")
    }
  }

  @Test("a head that is the same from its first byte to its empty line is not searched for lines")
  func whole() throws {
    let known = try #require(AnswerFeeding.known(Self.nginx))
    var reader = ResponseReader(resembling: known)
    var position = 0
    #expect(try reader.head(in: Self.nginx, at: &position) == known.head)
    #expect(reader.searchedBytes == 0 && position == Self.nginx.count - 5)
    #expect(reader.takeKnown() === known)
  }

  @Test("of a head with another date, only the line of the date is searched")
  func another() throws {
    let known = try #require(AnswerFeeding.known(Self.nginx))
    let later = Array(String(decoding: Self.nginx, as: UTF8.self).replacing("38 GMT", with: "39 GMT").utf8)
    var reader = ResponseReader(resembling: known)
    var position = 0
    #expect(try reader.head(in: later, at: &position)?.fields[1].value == "Sun, 22 Nov 2026 21:48:39 GMT")
    #expect(reader.searchedBytes == "Date: Sun, 22 Nov 2026 21:48:39 GMT\r\n".utf8.count)
    let taken = reader.takeKnown()
    let kept = try #require(taken)
    #expect(kept !== known)
    #expect(AnswerFeeding.known(later, resembling: kept) === kept)
  }
}
