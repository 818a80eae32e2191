// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("Framing and limits of response heads")
struct ResponseFramingTests {
  @Test(
    "Valid lengths are accepted",
    arguments: [
      ("Content-Length: 0", Int64(0)), ("content-length:\t42\t", 42), ("Content-Length: 5\r\nContent-Length: 5", 5),
      ("Content-Length: 5, 5", 5), ("CONTENT-LENGTH: 007", 7), ("Content-Length: 9223372036854775807", Int64.max),
    ])
  func goodLength(fields: String, length: Int64) {
    let fed = HeadFeeding("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n")
    #expect(fed.violation == nil)
    #expect(fed.machine.framing.contentLength == length)
  }

  @Test(
    "Invalid lengths are refused",
    arguments: [
      "Content-Length:", "Content-Length: +5", "Content-Length: -5", "Content-Length: 5 5", "Content-Length: 0x5",
      "Content-Length: 5,", "Content-Length: 5, 6", "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5.0",
      "Content-Length: 9223372036854775808", "Content-Length: 99999999999999999999999", "Content-Length: \u{0665}",
    ])
  func badLength(fields: String) {
    #expect(HeadFeeding("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n").violation?.kind == .contentLength)
  }

  @Test(
    "Chunked is recognised in any case", arguments: ["Transfer-Encoding: chunked", "transfer-encoding: \t CHUNKED "])
  func chunked(field: String) {
    let fed = HeadFeeding("HTTP/1.1 200 OK\r\n\(field)\r\n\r\n")
    #expect(fed.violation == nil)
    #expect(fed.machine.framing.isChunked)
  }

  @Test(
    "Unsupported transfer codings are refused",
    arguments: [
      "Transfer-Encoding: identity", "Transfer-Encoding: chunked, gzip", "Transfer-Encoding: gzip, chunked",
      "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
      "Transfer-Encoding:", "Transfer-Encoding: chunked,", "Transfer-Encoding: xchunked",
      "Transfer-Encoding: chunked;a=b",
      "Transfer-Encoding: chunked\r\nContent-Length: 5", "Content-Length: 5\r\nTransfer-Encoding: chunked",
    ])
  func badCoding(fields: String) {
    #expect(HeadFeeding("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n").violation?.kind == .transferEncoding)
  }

  @Test("Transfer codings are refused in other versions than HTTP/1.1", arguments: ["HTTP/1.0 200 OK", "HTTP/2 200 "])
  func wrongVersion(line: String) {
    #expect(HeadFeeding("\(line)\r\nTransfer-Encoding: chunked\r\n\r\n").violation?.kind == .transferEncoding)
  }

  @Test(
    "Status comes first: framing fields of a response without a body are ignored",
    arguments: [100, 102, 103, 204, 304],
    [
      "Content-Length: 0", "Content-Length: 5", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip",
      "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5\r\nTransfer-Encoding: chunked", "Content-Length: x",
    ])
  func withoutBody(status: Int, fields: String) throws {
    let next = status < 200 ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" : ""
    let fed = HeadFeeding("HTTP/1.1 \(status) X\r\n\(fields)\r\n\r\n\(next)")
    #expect(fed.violation == nil)
    #expect(fed.final?.status == (status < 200 ? 200 : status))
    if status < 200 { #expect(fed.machine.framing.contentLength == 2, "no field of an interim head remains") }
  }

  @Test("Responses to HEAD, and successful ones to CONNECT, have no body")
  func withoutBodyByRequest() throws {
    let fields = [("Content-Length", "5"), ("Transfer-Encoding", "chunked")]
    let head = ResponseHead(
      version: (1, 1), status: 200, reason: "", fields: fields.map { .init(name: $0.0, value: $0.1) })
    #expect(throws: HeadViolation.self) { try ResponseFraming(head) }
    #expect(try ResponseFraming(head, to: .head).isContradictory)
    #expect(try ResponseFraming(head, to: .connect) == ResponseFraming())
    var refusal = head
    refusal.status = 407
    #expect(throws: HeadViolation.self) { try ResponseFraming(refusal, to: .connect) }
  }

  @Test("A contradictory head in response to HEAD is not kept as known head")
  func contradictionIsForgotten() throws {
    let text = "HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    let bytes = Array(text.utf8)
    var reader = ResponseReader(to: .head)
    var position = 0
    #expect(try reader.head(in: bytes, at: &position)?.status == 200)
    let known = reader.takeKnown()
    #expect(known == nil)
    var next = ResponseReader(resembling: known)
    position = 0
    #expect(throws: HeadViolation.self) { try next.head(in: bytes, at: &position) }
  }

  @Test(
    "A response without framing ends with the connection",
    arguments: [
      ("HTTP/1.1 200 OK", ResponseReader.Request.ordinary, true), ("HTTP/1.0 200 OK", .ordinary, true),
      ("HTTP/1.1 200 OK", .head, false), ("HTTP/1.1 204 No Content", .ordinary, false),
      ("HTTP/1.1 304 Not Modified", .ordinary, false),
    ])
  func closeDelimited(line: String, request: ResponseReader.Request, expected: Bool) throws {
    var reader = ResponseReader(to: request)
    var position = 0
    #expect(try reader.head(in: Array("\(line)\r\n\r\n".utf8), at: &position) != nil)
    #expect(reader.endsWithConnection == expected)
  }

  @Test(
    "Content codings are recognised",
    arguments: [
      ("gzip", true), ("br, identity", true), ("identity", false), ("Identity", false),
      ("none", false), ("UTF-8", false), ("aws-chunked", false), ("aws-chunked, gzip", true), ("nones", true),
    ])
  func contentEncoding(value: String, expected: Bool) {
    let fed = HeadFeeding("HTTP/1.1 200 OK\r\nContent-Encoding: \(value)\r\n\r\n")
    #expect(fed.machine.framing.hasContentEncoding == expected)
  }

  @Test("The byte limit accepts its value and refuses one more")
  func bytes() {
    let head = Array("HTTP/1.1 200 OK\r\nA: 1\r\n\r\n".utf8)
    #expect(HeadFeeding(head, maximumHeadBytes: head.count).final != nil)
    #expect(HeadFeeding(head, maximumHeadBytes: head.count - 1).violation?.kind == .headTooLarge)
    let interim = Array("HTTP/1.1 103 Early\r\nA: 1\r\n\r\n".utf8)
    // The limit applies to each head separately.
    #expect(HeadFeeding(interim + interim + head, maximumHeadBytes: interim.count).final != nil)
    #expect(HeadFeeding(interim + head, maximumHeadBytes: interim.count - 1).violation?.kind == .headTooLarge)
  }

  @Test("The field limit accepts its value and refuses one more")
  func fields() {
    let head = Array("HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\n\r\n".utf8)
    #expect(HeadFeeding(head, maximumFields: 2).final != nil)
    #expect(HeadFeeding(head, maximumFields: 1).violation?.kind == .tooManyFields)
  }

  @Test("The limit of interim responses accepts its value and refuses one more")
  func interims() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\n"
    let text = Array((interim + interim + "HTTP/1.1 200 OK\r\n\r\n").utf8)
    #expect(HeadFeeding(text, maximumInterimResponses: 2).final?.status == 200)
    #expect(HeadFeeding(text, maximumInterimResponses: 1).violation?.kind == .tooManyInterimResponses)
  }
}
