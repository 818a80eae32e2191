// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import TestSupport
import Testing

/// Tests of the bytes that a server of ``LoopbackServer/http2(_:tls:settings:respond:)`` sends for each fault.
@Suite("Loopback HTTP/2 faults", .timeLimit(.minutes(15)))
struct LoopbackHTTP2FaultTests {
  typealias Frame = LoopbackHTTP2Frame

  struct Row: Sendable, CustomTestStringConvertible {
    var fault: LoopbackResponse.Fault
    var frames: [Frame]
    var ending: LoopbackClient.Ending?
    var rest: [UInt8] = []
    var testDescription: String { "\(fault)" }
  }

  private static let head = Frame.head(
    200, ["content-type": "text/plain; charset=utf-8", "content-length": "5"], stream: 5)
  private static let body = Frame.data("12345".utf8, stream: 5)
  private static let half = Frame.data("12".utf8, stream: 5)
  private static let end = Frame.data([], stream: 5, ends: true)
  private static let cut = Frame(.data, stream: 5, payload: Array("half".utf8), length: 8).bytes

  static let rows: [Row] = [
    Row(fault: .stall, frames: []),
    Row(fault: .stallBody(after: 2), frames: [head, half]),
    Row(fault: .http2(.stall, at: .afterHeaders), frames: [head]),
    Row(fault: .reset, frames: [], ending: .reset),
    Row(fault: .close, frames: [], ending: .orderly),
    Row(fault: .truncateBody(after: 2), frames: [head, half], ending: .truncated),
    Row(fault: .http2(.close, at: .afterHeaders), frames: [head], ending: .orderly),
    Row(fault: .http2(.halfClose, at: .body(after: 2)), frames: [head, half], ending: .truncated),
    Row(
      fault: .http2(.resetStream(.refusedStream), at: .beforeHeaders),
      frames: [.resetStream(.refusedStream, stream: 5)]),
    Row(fault: .refusedStream, frames: [.resetStream(.refusedStream, stream: 5)]),
    Row(
      fault: .http2(.resetStream(.internalError), at: .afterHeaders),
      frames: [head, .resetStream(.internalError, stream: 5)]),
    Row(
      fault: .http2(.resetStream(0xdead), at: .body(after: 2)), frames: [head, half, .resetStream(0xdead, stream: 5)]),
    Row(
      fault: .http2(.goAway(lastStream: .own, .noError), at: .afterHeaders),
      frames: [head, .goAway(lastStream: 5), body, end], ending: .orderly),
    Row(
      fault: .http2(.goAway(lastStream: .before, .noError), at: .beforeHeaders), frames: [.goAway(lastStream: 3)],
      ending: .orderly),
    Row(fault: .goAway, frames: [.goAway(lastStream: 3)], ending: .orderly),
    Row(
      fault: .http2(.goAway(lastStream: .id(0), .enhanceYourCalm), at: .body(after: 2)),
      frames: [head, half, .goAway(lastStream: 0, .enhanceYourCalm)], ending: .orderly),
    Row(
      fault: .http2(.truncateFrame, at: .beforeHeaders), frames: [], ending: .orderly,
      rest: Array(head.bytes.prefix(9 + head.payload.count / 2))),
    Row(fault: .http2(.truncateFrame, at: .body(after: 2)), frames: [head, half], ending: .orderly, rest: cut),
    Row(fault: .http2(.endStream, at: .beforeHeaders), frames: [end]),
    Row(fault: .http2(.endStream, at: .body(after: 2)), frames: [head, half, end]),
    Row(
      fault: .http2(.send([Frame(0x77, stream: 5)]), at: .body(after: 5)),
      frames: [head, body, Frame(0x77, stream: 5), end]
    ),
  ]

  @Test("Each fault closes or keeps the connection as documented", arguments: rows)
  func fault(_ row: Row) throws {
    let root = try CertificateAuthority()
    let tls = LoopbackTLS(try root.issue(hosts: ["localhost"]))
    let server = try LoopbackServer.http2(tls: tls) { request in
      var response = LoopbackResponse.text("12345")
      if request.path == "/fault" { response.fault = row.fault }
      return response
    }
    let client = try HTTP2TestClient(
      LoopbackClient(to: server.endpoint, trusting: root.rootPEM, protocols: ["h2"]))
    #expect(try client.frames(2).map(\.kind) == [.settings, .settings])
    try client.get("/fault", stream: 5)
    #expect(try client.frames(row.frames.count) == row.frames)
    if row.ending != nil {
      #expect(try client.allFrames() == [])
    } else {
      try client.get("/other", stream: 7)
      #expect(try client.frames(3).map(\.stream) == [7, 7, 7])
    }
    #expect(client.ending == row.ending)
    #expect(client.rest == row.rest)
    #expect(server.errors.isEmpty)
  }

  @Test("After a GOAWAY streams up to the last are answered, later ones ignored, and the connection ends")
  func graceful() throws {
    let server = try LoopbackServer.http2 { request in
      request.path == "/last"
        ? .fault(.http2(.goAway(lastStream: .id(3), .noError), at: .beforeHeaders)) : .text(request.text)
    }
    let client = try HTTP2TestClient(server)
    try client.get("/upload", stream: 1, method: "POST", ends: false)
    try client.get("/last", stream: 3)
    #expect(try client.frame() == .goAway(lastStream: 3))
    #expect(try client.frame()?.stream == 3)
    try client.get("/late", stream: 5)
    try client.send(.data("1".utf8, stream: 1, ends: true))
    let frames = try client.allFrames()
    #expect(frames.filter { $0.kind == .data }.last == .data([], stream: 1, ends: true))
    #expect(!frames.contains { $0.stream == 5 })
    #expect(client.ending == .orderly)
    #expect(server.requests.map(\.path) == ["/upload", "/last"])
  }

  @Test("A stalled connection answers no request, and ends when the server does")
  func stalledConnection() async throws {
    let server = try LoopbackServer.http2 { _ in .fault(.http2(.stallConnection, at: .beforeHeaders)) }
    let client = try HTTP2TestClient(server)
    try client.get("/", stream: 1)
    try await server.waitForRequests(count: 1)
    try client.send(Frame(.ping, stream: 0, payload: [UInt8](repeating: 0, count: 8)))
    server.stop()
    #expect(try client.allFrames() == [])
  }

  @Test("A server of HTTP/1.1 reports that it does not support such a fault")
  func overHTTP1() throws {
    let server = try LoopbackServer.http { _ in .fault(.http2(.stall, at: .beforeHeaders)) }
    let client = try LoopbackClient(to: server.endpoint)
    try client.send("GET / HTTP/1.1\r\n\r\n")
    let (text, ending) = client.receiveAll()
    #expect(text.hasPrefix("HTTP/1.1 500 "))
    #expect(text.hasSuffix("this fault needs LoopbackServer.http2"))
    #expect(ending == .orderly)
  }
}
