// SPDX-License-Identifier: Apache-2.0

import LastroWire
import Testing

@testable import LastroHTTP

@Suite("Malformed HTTP/2 responses")
struct HTTP2BrokenAnswerTests {
  /// The answers that break the stream, and the kind of violation.
  static let streams: [(String, [WireFrame], HTTP2Violation.Kind)] = [
    ("a name in upper case", [.headers([(":status", "200"), ("Bad", "x")], on: 1, ends: true)], .field),
    ("a control character", [.head(200, [("x", "a\u{1}b")], on: 1, ends: true)], .field),
    ("a line break", [.head(200, [("x", "a\r\nb: c")], on: 1, ends: true)], .field),
    ("a cookie with NUL", [.head(200, [("set-cookie", "a\0b")], on: 1, ends: true)], .field),
    ("a cookie with CR", [.head(200, [("set-cookie", "a\rb")], on: 1, ends: true)], .field),
    ("a name with a blank", [.head(200, [("x y", "a")], on: 1, ends: true)], .field),
    ("an empty name", [.head(200, [("", "a")], on: 1, ends: true)], .field),
    ("no status", [.headers([("x", "y")], on: 1, ends: true)], .field),
    ("two statuses", [.headers([(":status", "200"), (":status", "404")], on: 1, ends: true)], .field),
    ("a status behind a field", [.headers([("x", "y"), (":status", "200")], on: 1, ends: true)], .field),
    ("a status of two digits", [.headers([(":status", "20")], on: 1, ends: true)], .field),
    ("a status of letters", [.headers([(":status", "abc")], on: 1, ends: true)], .field),
    ("a status below 100", [.headers([(":status", "099")], on: 1, ends: true)], .field),
    ("another pseudo-field", [.headers([(":status", "200"), (":path", "/")], on: 1, ends: true)], .field),
    ("101", [.head(101, on: 1)], .field),
    ("a field of HTTP/1.1", [.head(200, [("transfer-encoding", "chunked")], on: 1, ends: true)], .field),
    ("an interim answer at the end", [.head(103, on: 1, ends: true)], .field),
    ("a body behind an interim head", [.head(103, on: 1), .data([1], on: 1)], .order),
    ("a body of no bytes between two heads", [.head(103, on: 1), .data([], on: 1), .head(200, on: 1)], .order),
    ("an end behind an interim head", [.head(103, on: 1), .data([], on: 1, ends: true)], .order),
    ("a body that is too long", [.head(200, [("content-length", "1")], on: 1), .data([1, 2], on: 1)], .contentLength),
    (
      "a body that is too short", [.head(200, [("content-length", "3")], on: 1), .data([1], on: 1, ends: true)],
      .contentLength
    ),
    ("no body for a length", [.head(200, [("content-length", "3")], on: 1, ends: true)], .field),
    ("two lengths", [.head(200, [("content-length", "3"), ("content-length", "3")], on: 1)], .field),
    ("a length that is not one", [.head(200, [("content-length", "-1")], on: 1)], .field),
    ("a body for 204", [.head(204, on: 1), .data([1], on: 1, ends: true)], .contentLength),
    ("trailers that do not end", [.head(200, on: 1), .headers([("x", "y")], on: 1)], .field),
    ("a pseudo-field in trailers", [.head(200, on: 1), .headers([(":status", "200")], on: 1, ends: true)], .field),
  ]

  @Test("Harmless defects are repaired: blanks around values are stripped, and an invalid cookie is dropped")
  func lenient() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    let fields = [("x", " a\t"), ("set-cookie", "a=\u{1}"), ("set-cookie", " b=2 "), ("y", " ")]
    lab.receive([.head(200, fields, on: 1, ends: true)])
    var head = ResponseHead(version: (2, 0), status: 200, reason: "")
    head.fields = [("x", "a"), ("set-cookie", "b=2"), ("y", "")].map { .init(name: $0.0, value: $0.1) }
    #expect(lab.told.first == .head(stream, head))
    #expect(lab.ending(stream) == .whole)
  }

  @Test("A malformed response resets its own stream only", arguments: streams)
  func stream(name: String, frames: [WireFrame], kind: HTTP2Violation.Kind) throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    let other = try lab.open()
    lab.receive(frames)
    guard case .broken(let violation)? = lab.ending(stream) else {
      Issue.record("\(String(describing: lab.ending(stream))), \(lab.told)")
      return
    }
    #expect(violation.kind == kind)
    #expect(lab.frames(.resetStream, on: 1).count == 1)
    lab.receive([.head(200, on: 3), .data("fine".utf8, on: 3, ends: true)])
    #expect(lab.ending(other) == .whole && lab.bodies[3] == Array("fine".utf8))
    #expect(lab.session.loss == nil)
  }

  @Test("A body in a response to HEAD resets the stream")
  func head() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open("HEAD")
    lab.receive([.head(200, on: 1), .data([1], on: 1, ends: true)])
    guard case .broken(let violation)? = lab.ending(stream) else { Issue.record("no violation was reported"); return }
    #expect(violation.kind == .contentLength)
  }

  /// The answers that break the connection.
  static let connections: [(String, [WireFrame])] = [
    ("a body without a head", [.data([1], on: 1)]),
    ("a body of no bytes without a head", [.data([], on: 1)]),
    ("an unknown stream", [.head(200, on: 99)]),
    ("a stream of the server's own", [.head(200, on: 2)]),
    ("a body on the connection", [.data([1], on: 0)]),
    ("a frame that is too large", [WireFrame(type: 0, stream: 1, payload: [UInt8](repeating: 0, count: 16_385))]),
    ("a block that is no HPACK", [WireFrame(type: 1, flags: 5, stream: 1, payload: [0xFF, 0x80, 0x7F])]),
    ("another frame within a head", [WireFrame(type: 1, stream: 1, payload: [0x88]), .ping()]),
    ("a continuation of nothing", [WireFrame(type: 9, flags: 4, stream: 1, payload: [0x88])]),
    ("a PING of seven bytes", [WireFrame(type: 6, payload: [1, 2, 3, 4, 5, 6, 7])]),
    ("no increment of the window", [.windowUpdate(0, on: 0)]),
    ("a window over the limit", [.windowUpdate(0x7FFF_FFFF, on: 0)]),
    ("push switched on", [.settings([(2, 1)])]),
    ("a window of settings over the limit", [.settings([(4, 0x8000_0000)])]),
    ("an acknowledgement of nothing", [.settingsAck]),
    ("GOAWAY for a stream of its own", [.goAway(last: 2)]),
    ("padding longer than the frame", [WireFrame(type: 0, flags: 8, stream: 1, payload: [9, 1])]),
    ("a reset of a stream that never was", [.reset(0, on: 99)]),
  ]

  @Test("Malformed frames close the connection, and all streams are notified", arguments: connections)
  func connection(name: String, frames: [WireFrame]) throws {
    let lab = try SessionLab.ready()
    let streams = try (0..<3).map { _ in try lab.open() }
    lab.receive(frames)
    #expect(lab.violation?.kind == .connection)
    #expect(lab.violation?.message.hasPrefix("the server violated HTTP/2: ") == true)
    for stream in streams {
      switch lab.ending(stream) {
      case .lost(.violation)?, .broken?: break
      case let ending: Issue.record("\(String(describing: ending))")
      }
    }
    #expect(lab.frames(.goAway).count == 1)
    #expect(lab.session.wantsClose && lab.session.streams.count == 0 && lab.session.freeStreams == 0)
    // The session no longer reads any bytes.
    lab.forget()
    lab.receive([.head(200, on: 3, ends: true)])
    #expect(lab.told.isEmpty)
  }

  @Test("An HTTP/1.1 response fails the connection")
  func http1() throws {
    let lab = try SessionLab()
    let stream = try lab.open()
    lab.receive(Array("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".utf8))
    #expect(lab.violation?.kind == .connection)
    guard case .lost? = lab.ending(stream) else { Issue.record("not lost"); return }
  }

  @Test("Responses complete before a flood are still delivered")
  func before() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    let other = try lab.open()
    lab.receive([
      .head(200, on: 1), .data("ok".utf8, on: 1, ends: true), .push(2, on: 3), .head(200, on: 3, ends: true),
    ])
    #expect(lab.ending(stream) == .whole)
    #expect(lab.bodies[1] == Array("ok".utf8))
    guard case .lost(.violation(let violation))? = lab.ending(other) else { Issue.record("not lost"); return }
    #expect(violation.kind == .push)
  }
}
