// SPDX-License-Identifier: Apache-2.0

import LastroWire
import TestSupport
import Testing

@testable import LastroHTTP

/// The violations that end streams, connections and requests. Their texts name the exceeded limit.
@Suite("Violations of HTTP/2")
struct HTTP2ViolationTests {
  @Test("A response beyond a limit breaks its stream, and the violation names the limit")
  func limits() throws {
    let manyFields: [WireFrame] = [.head(200, (0..<501).map { ("x\($0)", "") }, on: 1)]
    let interim = [WireFrame](repeating: .head(103, on: 1), count: 33)
    let empty = [.head(200, on: 1)] + [WireFrame](repeating: .data([], on: 1), count: 101)
    let beyondWindow =
      [.head(200, on: 1)] + [WireFrame](repeating: .data([UInt8](repeating: 0, count: 16_384), on: 1), count: 65)
    let cases: [([WireFrame], String)] = [
      (manyFields, "the response head has more than 500 fields"),
      (interim, "the server sent more than 32 interim responses without progress"),
      (empty, "the server sent more than 100 empty DATA frames without data between them"),
      (beyondWindow, "the server sent more than the stream's window allows"),
    ]
    for (answer, message) in cases {
      let lab = try SessionLab.ready()
      lab.reads = false
      let stream = try lab.open()
      lab.receive(answer)
      #expect(violation(of: stream, in: lab)?.message == message)
    }
  }

  @Test("A request's body has the length that its head announced")
  func lengths() throws {
    let cases: [(Int64, String)] = [
      (1, "the request's body has more bytes than its Content-Length"),
      (3, "the request's body has fewer bytes than its Content-Length"),
    ]
    for (length, message) in cases {
      let lab = try SessionLab.ready()
      let stream = try lab.open("POST", body: .stream(length: length))
      lab.provide(2, on: stream)
      lab.session.endBody(stream)
      lab.send()
      #expect(violation(of: stream, in: lab)?.message == message)
    }
  }

  @Test("A head or trailers too large for a frame are not sent")
  func largeFields() throws {
    for isHead in [true, false] {
      let lab = try SessionLab.ready()
      var large = isHead ? try SessionLab.request() : HTTP2Fields()
      try large.add("x", String(repeating: "v", count: HTTP2Fields.maximumBytes))
      let head = isHead ? large : try SessionLab.request()
      let stream = try #require(lab.session.open(head, body: .stream(length: nil), now: lab.now))
      if !isHead { lab.session.endBody(stream, trailers: large) }
      lab.send()
      let what = isHead ? "head" : "trailers"
      #expect(
        violation(of: stream, in: lab)?.message
          == "the request's \(what) cannot be sent: The length of the frame is invalid")
    }
  }

  @Test("A server that keeps sending beyond smaller windows loses the connection")
  func stubbornServer() throws {
    var configuration = HTTP2Configuration()
    (configuration.streams, configuration.connectionWindow, configuration.unreadBytes) = (1, 0x10000, 0x10000)
    let lab = try SessionLab.ready(configuration)
    lab.reads = false
    _ = try lab.open()
    lab.receive([.head(200, on: 1)])
    for _ in 0..<17 { lab.receive([.data([UInt8](repeating: 0, count: 16_384), on: 1)]) }
    #expect(lab.violation?.message == "the server keeps sending beyond the smaller windows it was given")
  }

  @Test("Fields that HTTP/2 cannot carry are refused, and the refusal names the field")
  func requests() throws {
    for (name, value, message) in [
      ("", "x", "the name of a header field is empty, or has characters it cannot have"),
      ("x", " a", "the value of the header field x has a control character in it, or a blank at an end"),
      ("te", "gzip", "TE has a value other than trailers, which HTTP/2 does not allow"),
      ("host", "a", "the Host header field is given in addition to :authority"),
      ("upgrade", "h2c", "the header field upgrade does not exist in HTTP/2"),
    ] {
      let head = try SessionLab.request()
      let error = #expect(throws: RequestViolation.self) {
        var head = head
        try head.add(name, value)
      }
      #expect(error?.message == message)
    }
  }

  private func violation(of stream: HTTP2Stream, in lab: SessionLab) -> HTTP2Violation? {
    guard case .broken(let violation)? = lab.ending(stream) else { return nil }
    return violation
  }
}
