// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LastroWire

@Suite("Responses read from a connection", .ownThread)
struct ResponseReaderTests {
  private func read(
    _ text: String, to request: ResponseReader.Request = .ordinary, limits: ExchangeLimits = ExchangeLimits(),
    closes: Bool = false
  ) -> AnswerFeeding {
    let (answer, differing) = AnswerFeeding.everySplit(
      of: Array(text.utf8), to: request, limits: limits, closes: closes)
    #expect(differing.isEmpty, "\(text.debugDescription)")
    return answer
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test("Interim heads, head, body, trailers, end and the rest are reported in every split")
  func everything() throws {
    let answer = read(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"
        + "HTTP/1.1 200 OK\r\nA: 1\r\n folded\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "3;x=\"y\"\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: 1\r\nContent-Length: 5\r\n\r\nNEXT")
    #expect(answer.violation == nil)
    #expect(answer.interim == [100, 103])
    let head = try #require(answer.head)
    #expect(head.status == 200)
    #expect(head.fields.first == ResponseHead.Field(name: "A", value: "1 folded"))
    #expect(text(answer.body) == "abc0123456789")
    #expect(answer.trailers == [ResponseHead.Field(name: "T", value: "1")])
    #expect(answer.hasEnded && answer.keepsConnection)
    #expect(text(answer.leftover) == "NEXT")
  }

  @Test(
    "The end of a response follows from the request, the status and the head",
    arguments: [
      ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloX", ResponseReader.Request.ordinary, "hello", true, "X"),
      ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nX", .ordinary, "", true, "X"),
      ("HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\nX", .ordinary, "", true, "X"),
      ("HTTP/1.1 304 No\r\nTransfer-Encoding: chunked\r\n\r\nX", .ordinary, "", true, "X"),
      ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nX", .head, "", true, "X"),
      ("HTTP/1.1 404 No\r\n\r\nX", .head, "", true, "X"),
      ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nX", .connect, "", true, "X"),
      ("HTTP/1.1 407 No\r\nContent-Length: 5\r\n\r\nhelloX", .connect, "hello", true, "X"),
      ("HTTP/1.1 101 Switch\r\nUpgrade: x\r\n\r\nX", .upgrade, "", true, "X"),
      ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nXY", .upgrade, "X", true, "Y"),
      ("HTTP/1.1 200 OK\r\n\r\nto the end", .ordinary, "to the end", false, ""),
      ("HTTP/1.0 200 OK\r\n\r\n", .ordinary, "", false, ""),
    ])
  func ends(sent: String, request: ResponseReader.Request, body: String, endsItself: Bool, leftover: String) {
    for closes in [false, true] {
      let answer = read(sent, to: request, closes: closes)
      #expect(answer.violation == nil)
      #expect(text(answer.body) == body)
      #expect(answer.hasEnded == (endsItself || closes))
      #expect(text(answer.leftover) == leftover)
    }
  }

  @Test(
    "Whether the connection can be reused follows from the response",
    arguments: [
      ("HTTP/1.1 200 OK\r\nContent-Length: 0", ResponseReader.Request.ordinary, true),
      ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close", .ordinary, false),
      ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, CLOSE", .ordinary, false),
      ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x\r\nConnection: close", .ordinary, false),
      ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: closed", .ordinary, true),
      ("HTTP/1.0 200 OK\r\nContent-Length: 0", .ordinary, false),
      ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive", .ordinary, true),
      ("HTTP/1.1 200 OK", .ordinary, false), ("HTTP/1.1 200 OK", .head, true), ("HTTP/1.1 204 No", .ordinary, true),
      ("HTTP/1.1 200 OK", .connect, false), ("HTTP/1.1 101 Switch", .upgrade, false),
    ])
  func persistence(head: String, request: ResponseReader.Request, keeps: Bool) {
    #expect(read(head + "\r\n\r\n", to: request, closes: false).keepsConnection == keeps)
    #expect(!read(head + "\r\n", to: request).keepsConnection, "before the end")
  }

  @Test("A premature end is reported by its position in head or body")
  func cut() {
    let heads = "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    let bytes = Array((heads + "2\r\nhi\r\n0\r\nT: 1\r\n\r\n").utf8)
    let head = heads.utf8.count
    for count in bytes.indices {
      let answer = AnswerFeeding([bytes[..<count]], closes: true)
      #expect(answer.violation?.kind == (count < head ? .endsInHead : .endsInBody), "after \(count)")
    }
    #expect(AnswerFeeding([bytes[...]], closes: true).violation == nil)
    #expect(read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", closes: true).violation?.kind == .endsInBody)
  }

  @Test(
    "A violation of the grammar is reported at the same position in every split",
    arguments: [
      ("SSH-2.0-x\r\n", HeadViolation.Kind.statusLine), ("HTTP/2 200 OK\r\n\r\n", .statusLine),
      ("HTTP/3 200 OK\r\n\r\n", .statusLine), ("\r\nHTTP/1.1 200 OK\r\n\r\n", .statusLine),
      ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", .fieldName), ("HTTP/1.1 200 OK\r\nA: \u{0}\r\n\r\n", .fieldValue),
      ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", .contentLength),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", .transferEncoding),
      ("HTTP/1.1 101 Switch\r\n\r\n", .unexpectedUpgrade),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5 5\r\nhello\r\n", .transferEncoding),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: 1\n\r\n", .lineEnd),
    ])
  func grammar(sent: String, kind: HeadViolation.Kind) {
    #expect(read(sent).violation?.kind == kind)
  }

  @Test("Each limit accepts its value and refuses one more, in every split")
  func limits() {
    let interim = "HTTP/1.1 100 C\r\n\r\n", fields = "A: 1\r\nB: 2\r\n"
    let head = "HTTP/1.1 200 OK\r\n\(fields)Transfer-Encoding: chunked\r\n\r\n"
    let sent = interim + head + "2\r\nhi\r\n3\r\nabc\r\n0\r\n\(fields)C: 3\r\n\r\n"
    let exact = ExchangeLimits(headBytes: head.utf8.count, fields: 3, interimResponses: 1)
    #expect(read(sent, limits: exact).violation == nil)
    let large = "HTTP/1.1 100 C\r\nA: \(String(repeating: "x", count: head.utf8.count))\r\n\r\n"
    #expect(read(large + head, limits: exact).violation?.kind == .headTooLarge)
    let changes: [(WritableKeyPath<ExchangeLimits, Int>, HeadViolation.Kind)] = [
      (\.headBytes, .headTooLarge), (\.fields, .tooManyFields), (\.interimResponses, .tooManyInterimResponses),
    ]
    for (path, kind) in changes {
      var limits = exact
      limits[keyPath: path] -= 1
      #expect(read(sent, limits: limits).violation?.kind == kind)
    }
  }

  @Test("Trailers have the limits of a head")
  func trailers() {
    let start = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    let limits = ExchangeLimits(headBytes: 60, fields: 2)
    #expect(read(start + "A: 1\r\nB: 2\r\n\r\n", limits: limits).violation == nil)
    #expect(read(start + "A: 1\r\nB: 2\r\nC: 3\r\n\r\n", limits: limits).violation?.kind == .tooManyFields)
    let long = String(repeating: "x", count: 60)
    #expect(read(start + "A: \(long)\r\n\r\n", limits: limits).violation?.kind == .headTooLarge)
  }

  @Test("A head up to the limit is searched once, however small its pieces", arguments: [1, 2, 3, 1000, Int.max])
  func linear(piece: Int) throws {
    let limits = ExchangeLimits()
    let long = String(repeating: "x", count: 1000) + "\r\n"
    var head = "HTTP/1.1 200 OK\r\n"
    for index in 0..<255 { head += "F\(index): \(long)" }
    head += "Long: " + String(repeating: "y", count: limits.headBytes - head.utf8.count - 10) + "\r\n\r\n"
    #expect(head.utf8.count == limits.headBytes)
    let bytes = Array(head.utf8)
    var reader = ResponseReader(limits: limits)
    var found: ResponseHead?
    var used = 0
    while found == nil, used < bytes.count {
      var position = 0
      found = try reader.head(in: Array(bytes[used...].prefix(piece)), at: &position)
      used += position
    }
    #expect(used == bytes.count)
    #expect(found?.fields.count == 256)
    #expect(reader.searchedBytes == bytes.count)
  }

  @Test("A line without an end is refused at the limit, and no byte of it is searched twice", arguments: [1, 4096])
  func endlessLine(piece: Int) {
    var reader = ResponseReader(limits: ExchangeLimits(headBytes: 65_536))
    var kind: HeadViolation.Kind?
    var given = 0
    var bytes = Array("HTTP/1.1 200 ".utf8)
    while kind == nil, given < 100_000 {
      var position = 0
      given += bytes.count
      do throws(HeadViolation) { _ = try reader.head(in: bytes, at: &position) } catch { kind = error.kind }
      bytes = [UInt8](repeating: 0x78, count: piece)
    }
    #expect(kind == .headTooLarge)
    #expect(given <= 65_536 + piece)
    #expect(reader.searchedBytes == given)
  }
}

/// The result of feeding a reader with a response in parts.
struct AnswerFeeding: Equatable {
  var interim: [Int] = []
  var head: ResponseHead?
  var body: [UInt8] = []
  var trailers: [ResponseHead.Field] = []
  var hasEnded = false
  var keepsConnection = false
  /// The bytes after the response.
  var leftover: [UInt8] = []
  var violation: HeadViolation?

  /// - Parameters:
  ///   - most: the number of available body bytes that are used at once.
  ///   - closes: whether the connection ends after the parts.
  ///   - known: the kept part of an earlier head.
  init(
    _ parts: [ArraySlice<UInt8>], to request: ResponseReader.Request = .ordinary,
    limits: ExchangeLimits = ExchangeLimits(), using most: Int = .max, closes: Bool = false,
    resembling known: KnownHead? = nil
  ) {
    var reader = ResponseReader(to: request, limits: limits, resembling: known)
    do throws(HeadViolation) {
      for part in parts { try feed(Array(part), to: &reader, using: most) }
      if closes { try reader.connectionEnded() }
    } catch {
      violation = error
    }
    trailers = reader.trailers
    hasEnded = reader.hasEnded
    keepsConnection = reader.keepsConnection
  }

  /// Returns the part of a response's head that is kept.
  static func known(_ bytes: [UInt8], resembling known: KnownHead? = nil) -> KnownHead? {
    var reader = ResponseReader(resembling: known)
    var position = 0
    return (try? reader.head(in: bytes, at: &position)) == nil ? nil : reader.takeKnown()
  }

  private mutating func feed(
    _ part: [UInt8], to reader: inout ResponseReader, using most: Int
  ) throws(HeadViolation) {
    try part.withBytes { bytes throws(HeadViolation) in
      var position = 0
      while true {
        switch try reader.next(in: bytes, at: &position) {
        case .needsMore: return
        case .interim(let head): interim.append(head.status)
        case .head(let head): self.head = head
        case .body(let found):
          let count = min(most, found)
          body += bytes[position..<position + count]
          reader.markUsed(count)
          position += count
        case .end:
          leftover += bytes[position...]
          return
        }
      }
    }
  }

  /// Reads the bytes in one piece, in every two pieces, byte by byte, and with a body that is used in single bytes.
  /// Returns the result, and the splits whose results differ.
  static func everySplit(
    of bytes: [UInt8], to request: ResponseReader.Request = .ordinary, limits: ExchangeLimits = ExchangeLimits(),
    closes: Bool = false
  ) -> (answer: Self, differing: [String]) {
    let whole = Self([bytes[...]], to: request, limits: limits, closes: closes)
    var differing: [String] = []
    for cut in 0...bytes.count {
      let halves = Self([bytes[..<cut], bytes[cut...]], to: request, limits: limits, closes: closes)
      if halves != whole { differing.append("cut at \(cut)") }
    }
    let single = bytes.indices.map { bytes[$0...$0] }
    if Self(single, to: request, limits: limits, closes: closes) != whole { differing.append("byte by byte") }
    if Self([bytes[...]], to: request, limits: limits, using: 1, closes: closes) != whole {
      differing.append("used one by one")
    }
    return (whole, differing)
  }
}
