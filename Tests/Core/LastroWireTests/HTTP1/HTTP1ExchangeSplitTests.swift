// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LastroWire

/// The events of an exchange are the same, however the bytes of its response are split.
@Suite("HTTP/1.1 exchanges in every split", .ownThread)
struct HTTP1ExchangeSplitTests {
  /// The events and the body that an exchange reported.
  struct Record: Equatable {
    var events: [String] = []
    var body: [UInt8] = []
    var leftover: [UInt8] = []
    var end = ""

    init(_ parts: [ArraySlice<UInt8>], _ exchange: HTTP1Exchange, closes: Bool) {
      var exchange = exchange
      do throws(HTTP1Failure) {
        for part in parts { try read(Array(part), &exchange) }
        if closes { _ = try exchange.connectionEnded(cleanly: true) }
        // A byte that arrives after the exchange is the pool's concern: the pool closes the connection.
        let isReusable = exchange.connection == .reusable && leftover.isEmpty
        let connection = exchange.connection == .reusable && !isReusable ? .toClose : exchange.connection
        end = "\(exchange.writing) \(exchange.reading) \(connection) \(exchange.trailers.count)"
      } catch {
        end = "\(error)"
      }
    }

    private mutating func read(_ part: [UInt8], _ exchange: inout HTTP1Exchange) throws(HTTP1Failure) {
      try part.withBytes { bytes throws(HTTP1Failure) in
        var position = 0
        while true {
          switch try exchange.next(in: bytes, at: &position) {
          case .needsMore: return
          case .interim(let head): events.append("interim \(head.status)")
          case .head(let head): events.append("head \(head.status) \(exchange.writing)")
          case .body(let count):
            body += bytes[position..<position + count]
            exchange.markUsed(count)
            position += count
          case .end, .tunnel:
            leftover += bytes[position...]
            return
          }
        }
      }
    }
  }

  private static let answers = [
    "HTTP/1.1 200 OK\r\nServer: a\r\nDate: b\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nServer: a\r\nDate: c\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nServer: a\r\nDate: b\r\nContent-Length: 5\r\n\r\nhelloX",
    "HTTP/1.1 103 E\r\nLink: x\r\n\r\nHTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
    "HTTP/1.1 413 No\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nT: 1\r\n\r\n",
    "HTTP/1.0 200 OK\r\n\r\nto the end", "HTTP/1.1 204 No\r\n\r\n", "HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 101 S\r\nUpgrade: x\r\n\r\n\u{1}\u{2}", "HTTP/1.1 101 S\r\n\r\nx",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nA B\r\n\r\n", "",
  ]

  private static func exchanges() -> [HTTP1Exchange] {
    var waiting = HTTP1Exchange(.chunked, to: .upgrade, expectsContinue: true)
    waiting.started()
    waiting.wroteAll()
    var sending = HTTP1Exchange(.length(10), to: .upgrade)
    sending.started()
    sending.wroteSome()
    var sent = HTTP1Exchange(.none, to: .upgrade)
    sent.started()
    sent.wroteAll()
    var known = HTTP1Exchange(.none, resembling: AnswerFeeding.known(Array(answers[0].utf8)))
    known.started()
    known.wroteAll()
    return [waiting, sending, sent, known]
  }

  @Test("The result is the same in one piece, in every two, and byte by byte", arguments: answers)
  func splits(answer: String) {
    let bytes = Array(answer.utf8)
    for (index, exchange) in Self.exchanges().enumerated() {
      for closes in [false, true] {
        let whole = Record([bytes[...]], exchange, closes: closes)
        for cut in 0...bytes.count {
          let halves = Record([bytes[..<cut], bytes[cut...]], exchange, closes: closes)
          #expect(halves == whole, "exchange \(index), cut at \(cut)")
        }
        #expect(Record(bytes.indices.map { bytes[$0...$0] }, exchange, closes: closes) == whole, "exchange \(index)")
      }
    }
  }
}
