// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import Testing

@testable import LastroWire

/// A reader with a known head compares a response's head with it, first as a whole and then in parts. Its verdicts
/// equal those of a reader without memory.
@Suite("Reuse of parsed heads")
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

  @Test("Every response of the corpus is parsed correctly after every other")
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

  @Test("A response with any byte changed, removed, inserted or doubled is parsed correctly after the original")
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

  @Test("A response with a line inserted, removed or replaced is parsed correctly after the original")
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

  @Test("Limits of bytes and fields apply at the same position")
  func limits() throws {
    let known = try #require(AnswerFeeding.known(Self.nginx))
    for size in 1...Self.nginx.count {
      #expect(!Self.differs(Self.nginx, known, limits: ExchangeLimits(headBytes: size), cut: 40), "\(size)")
    }
    for fields in 0...8 {
      #expect(!Self.differs(Self.nginx, known, limits: ExchangeLimits(fields: fields), cut: 40), "\(fields)")
    }
  }

  @Test("A head identical to the previous one is not searched for lines")
  func whole() throws {
    let known = try #require(AnswerFeeding.known(Self.nginx))
    var reader = ResponseReader(resembling: known)
    var position = 0
    #expect(try reader.head(in: Self.nginx, at: &position) == known.head)
    #expect(reader.searchedBytes == 0 && position == Self.nginx.count - 5)
    #expect(reader.takeKnown() === known)
  }

  @Test("In a head that differs in its date, only that line is searched")
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
