// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

/// A shell around an exchange, as the documentation describes it. Its connection accepts a limited number of bytes at a
/// time. A script sends each response once a given number of request bytes has been accepted.
@Suite("I/O loop around an exchange")
struct HTTP1ExchangeShellTests {
  private struct Shell {
    var exchange: HTTP1Exchange
    /// The bytes that the connection accepted.
    var wire: [UInt8] = []
    var queue: [UInt8] = []
    var source: [[UInt8]]
    var trailers: [ResponseHead.Field] = []
    /// The server's responses, each with the number of received bytes after which it is sent.
    var script: [(after: Int, text: String)]
    var capacity = Int.max
    var statuses: [Int] = []
    var answer: [UInt8] = []

    mutating func run(_ head: String) throws(HTTP1Failure) {
      exchange.started()
      queue += Array(head.utf8)
      var turns = 0
      while exchange.connection == .inUse, turns < 1_000 {
        turns += 1
        try pull()
        if !push(), !(try hear()) { try exchange.timerFired() }
      }
    }

    private mutating func pull() throws(HTTP1Failure) {
      guard exchange.writing == .body, queue.isEmpty else { return }
      guard !source.isEmpty else {
        if let end = try exchange.sourceEnded(trailers) { queue += end }
        return
      }
      var rest = source.removeFirst()[...]
      while !rest.isEmpty, let piece = try exchange.sourceGave(rest.count) {
        piece.withPrefix { queue += $0 }
        queue += rest.prefix(piece.count)
        piece.suffix.withUTF8Buffer { queue += $0 }
        rest = rest.dropFirst(piece.count)
      }
    }

    /// Sends bytes if possible, and returns whether there was progress.
    private mutating func push() -> Bool {
      switch exchange.writing {
      case .stopped, .broken: queue = []
      case .head, .sent: break
      case .awaitContinue, .body, .flushing:
        guard !queue.isEmpty || exchange.writing == .flushing else { return false }
        let count = min(capacity, queue.count)
        wire += queue.prefix(count)
        queue.removeFirst(count)
        if queue.isEmpty { exchange.wroteAll() } else { exchange.wroteSome() }
        return true
      }
      return false
    }

    /// Receives the next response of the script, and returns whether there was one.
    private mutating func hear() throws(HTTP1Failure) -> Bool {
      guard let next = script.first, wire.count >= next.after else { return false }
      script.removeFirst()
      let bytes = Array(next.text.utf8)
      try bytes.withBytes { bytes throws(HTTP1Failure) in
        var position = 0
        while true {
          switch try exchange.next(in: bytes, at: &position) {
          case .needsMore, .end, .tunnel: return
          case .interim(let head), .head(let head): statuses.append(head.status)
          case .body(let count):
            answer += bytes[position..<position + count]
            exchange.markUsed(count)
            position += count
          }
        }
      }
      return true
    }
  }

  private static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
  private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
  private static let post = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"

  @Test("A GET is exchanged", arguments: [1, 7, Int.max])
  func get(capacity: Int) throws {
    var shell = Shell(
      exchange: HTTP1Exchange(.none), source: [], script: [(Self.get.utf8.count, Self.hello)], capacity: capacity)
    try shell.run(Self.get)
    #expect(String(decoding: shell.wire, as: UTF8.self) == Self.get)
    #expect(shell.statuses == [200] && String(decoding: shell.answer, as: UTF8.self) == "hello")
    #expect(shell.exchange.connection == .reusable)
  }

  @Test("A chunked upload with a trailer is sent after 100 or without it", arguments: [1, 7, Int.max], [true, false])
  func upload(capacity: Int, continues: Bool) throws {
    let body = "3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 1\r\n\r\n"
    let whole = Self.post.utf8.count + body.utf8.count
    var script = [(after: whole, text: Self.hello)]
    if continues { script.insert((Self.post.utf8.count, "HTTP/1.1 100 C\r\n\r\n"), at: 0) }
    var shell = Shell(
      exchange: HTTP1Exchange(.chunked, expectsContinue: true), source: [Array("abc".utf8), Array("de".utf8)],
      trailers: [ResponseHead.Field(name: "X-Sum", value: "1")], script: script, capacity: capacity)
    try shell.run(Self.post)
    #expect(String(decoding: shell.wire, as: UTF8.self) == Self.post + body)
    #expect(shell.statuses == [200] && shell.exchange.connection == .reusable)
    #expect(shell.exchange.continueTimedOut == !continues)
  }

  @Test("After a refusal instead of 100 no byte of the body is sent")
  func refused() throws {
    let script = [(Self.post.utf8.count, "HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno")]
    var shell = Shell(
      exchange: HTTP1Exchange(.chunked, expectsContinue: true), source: [[1, 2, 3]], script: script)
    try shell.run(Self.post)
    #expect(String(decoding: shell.wire, as: UTF8.self) == Self.post)
    #expect(shell.statuses == [413] && String(decoding: shell.answer, as: UTF8.self) == "no")
    #expect(shell.exchange.connection == .toClose)
  }

  @Test("The response arrives piece by piece while the body is sent")
  func bothWays() throws {
    let start = Self.post.utf8.count
    let script = [
      (start, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), (start + 6, "1\r\na\r\n"),
      (start + 12, "1\r\nb\r\n"), (start + 17, "0\r\n\r\n"),
    ]
    var shell = Shell(exchange: HTTP1Exchange(.chunked), source: [[0x61], [0x62]], script: script)
    try shell.run(Self.post)
    #expect(String(decoding: shell.wire, as: UTF8.self) == Self.post + "1\r\na\r\n1\r\nb\r\n0\r\n\r\n")
    #expect(String(decoding: shell.answer, as: UTF8.self) == "ab" && shell.exchange.connection == .reusable)
  }
}
