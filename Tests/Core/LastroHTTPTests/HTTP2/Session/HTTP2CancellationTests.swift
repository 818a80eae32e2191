// SPDX-License-Identifier: Apache-2.0

import LastroWire
import Testing

@testable import LastroHTTP

@Suite("Cancelled HTTP/2 streams")
struct HTTP2CancellationTests {
  /// The frames of an exchange. The stream is cancelled before one of them.
  private static let answer: [WireFrame] = [
    .head(103, on: 1), .head(200, on: 1), .data("a".utf8, on: 1), .windowUpdate(5, on: 1), .data("b".utf8, on: 1),
    .headers([("x", "y")], on: 1, ends: true),
  ]

  @Test(
    "Cancelling at any point costs one RST_STREAM, reports nothing more, and leaves other streams alone",
    arguments: 0...answer.count - 1)
  func everyPoint(point: Int) throws {
    let lab = try SessionLab.ready(settings: [(4, 10)])
    let stream = try lab.upload(100)
    let other = try lab.open()
    for frame in Self.answer[..<point] { lab.receive([frame]) }
    lab.forget()
    lab.session.reset(stream)
    #expect(lab.send() == [.reset(8, on: 1)])
    for frame in Self.answer[point...] { lab.receive([frame]) }
    #expect(lab.told.isEmpty && lab.frames(.data).isEmpty)
    #expect(lab.session.unreadBytes == 0 && lab.session.room(on: stream) == 0)
    lab.session.reset(stream)
    lab.session.consumed(1, on: stream)
    lab.session.endBody(stream)
    #expect(lab.provide(1, on: stream) == 0 && lab.send().isEmpty)
    lab.receive([.head(200, on: 3, ends: true)])
    #expect(lab.ending(other) == .whole)
    #expect(lab.session.loss == nil && lab.session.freeStreams == 100)
  }

  @Test("A stream cancelled before its head was sent is never seen by the server")
  func unsent() throws {
    let lab = try SessionLab.ready()
    let first = try #require(lab.session.open(try SessionLab.request(), now: lab.now))
    let second = try #require(lab.session.open(try SessionLab.request(), now: lab.now))
    lab.session.reset(first)
    #expect(lab.send().map(\.stream) == [3])
    lab.receive([.head(200, on: 3, ends: true)])
    #expect(lab.ending(second) == .whole && lab.ending(first) == nil)
  }

  @Test("Cancelling between two pieces of the body stops sending at once")
  func whileSending() throws {
    let lab = try SessionLab.ready(settings: [(4, 1 << 20)])
    let stream = try #require(
      lab.session.open(try SessionLab.request("POST"), body: .stream(length: nil), now: lab.now))
    lab.provide(60_000, on: stream)
    let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 20_000, alignment: 1)
    defer { space.deallocate() }
    #expect(lab.session.send(into: space, now: lab.now) > 16_384)
    lab.session.reset(stream)
    var parser = WireFrameParser(hasPreface: false)
    var frames: [WireFrame] = []
    while case let count = lab.session.send(into: space, now: lab.now), count > 0 {
      frames += parser.feed(Array(space[..<count]))
    }
    #expect(frames == [.reset(8, on: 1)])
  }

  @Test("Cancelling frees the stream's slot, and late frames do not reach the next stream")
  func slots() throws {
    let lab = try SessionLab.ready()
    let first = try lab.open()
    lab.session.reset(first)
    let second = try lab.open()
    #expect(first.slot == second.slot && first != second)
    lab.receive([.head(404, on: 1), .data("late".utf8, on: 1, ends: true), .head(200, on: 3, ends: true)])
    #expect(lab.head(second)?.status == 200 && lab.bodies.isEmpty)
    lab.session.reset(first)
    #expect(!lab.session.streams.contains(second) && lab.ending(second) == .whole)
  }

  @Test("Cancelling while events are read leaves the events of other streams alone, and sends no needless reset")
  func whileTaking() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    let other = try lab.open()
    let bytes = [
      WireFrame.head(200, on: 1), .head(200, on: 3), .data("a".utf8, on: 1), .data("b".utf8, on: 1, ends: true),
      .data("c".utf8, on: 3, ends: true),
    ].flatMap(\.bytes)
    bytes.withUnsafeBytes { lab.session.receive($0, now: lab.now) }
    #expect(lab.session.next() == .head(stream, .http2(200)))
    lab.session.reset(stream)
    lab.drain(bytes)
    #expect(lab.told.filter { $0.stream == other } == [.head(other, .http2(200)), .closed(other, .whole)])
    #expect(lab.bodies[3] == Array("c".utf8))
    // The exchange was complete, so no reset is sent.
    lab.send()
    #expect(lab.frames(.resetStream).isEmpty)
  }
}
