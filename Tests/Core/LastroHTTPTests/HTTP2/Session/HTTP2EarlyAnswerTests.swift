// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroHTTP

@Suite("Early HTTP/2 responses (RFC 9113 §8.1)")
struct HTTP2EarlyAnswerTests {
  enum Reset: CaseIterable { case sameSegment, nextSegment, never }

  @Test(
    "An early response of 300 or above is returned and ends the upload", arguments: Reset.allCases,
    [303, 307, 400, 413, 503])
  func refusal(reset: Reset, status: Int) throws {
    let lab = try SessionLab.ready(settings: [(4, 1_000)])
    let stream = try lab.upload(50_000, ends: false)
    let sent = lab.frames(.data).count
    lab.forget()
    let answer: [WireFrame] = [.head(status, on: 1), .data("no".utf8, on: 1, ends: true)]
    lab.receive(reset == .sameSegment ? answer + [.reset(0, on: 1)] : answer)
    if reset == .nextSegment { lab.receive([.reset(0, on: 1)]) }
    #expect(lab.told.prefix(2) == [.head(stream, .http2(status)), .stopsBody(stream)])
    #expect(lab.bodies[1] == Array("no".utf8))
    #expect(lab.ending(stream) == .whole)
    #expect(sent == 1 && lab.frames(.data).isEmpty)
    // If the server sent no reset, our reset tells it that no more data follows. If it sent one, ours may be omitted.
    let resets = lab.frames(.resetStream).map(\.number)
    #expect(resets == [0] || reset == .sameSegment && resets.isEmpty)
    #expect(lab.session.streams.count == 0 && lab.session.loss == nil)
    lab.receive([.windowUpdate(100, on: 1)])
    #expect(lab.frames(.data).isEmpty)
  }

  @Test("An early response of 300 or above is read to its end while no more of the request is sent")
  func refusalThatTakesTime() throws {
    let lab = try SessionLab.ready(settings: [(4, 10)])
    let stream = try lab.upload(100)
    lab.receive([.head(413, on: 1), .windowUpdate(50, on: 1)])
    #expect(lab.has(.stopsBody(stream)))
    #expect(lab.frames(.data).count == 1)
    #expect(lab.session.room(on: stream) == 0 && lab.provide(5, on: stream) == 0)
    lab.receive([.data("a".utf8, on: 1)])
    lab.receive([.data("b".utf8, on: 1, ends: true)])
    #expect(lab.bodies[1] == Array("ab".utf8))
    #expect(lab.ending(stream) == .whole)
  }

  @Test(
    "An early response below 300 is returned, and sending continues until the server or the owner ends it",
    arguments: Reset.allCases)
  func acceptance(reset: Reset) throws {
    let lab = try SessionLab.ready(settings: [(4, 10)])
    let stream = try lab.upload(15)
    let answer: [WireFrame] = [.head(200, on: 1), .data("ok".utf8, on: 1, ends: true)]
    lab.receive(reset == .sameSegment ? answer + [.reset(0, on: 1)] : answer)
    #expect(lab.has(.answered(stream)))
    switch reset {
    case .sameSegment: break
    case .nextSegment:
      #expect(lab.ending(stream) == nil)
      lab.receive([.reset(0, on: 1)])
    case .never:
      lab.receive([.windowUpdate(10, on: 1)])
      #expect(lab.frames(.data).last == .data("aaaaa".utf8, on: 1, ends: true))
    }
    #expect(lab.ending(stream) == .whole)
    #expect(lab.session.streams.count == 0)
  }

  @Test("After an early response below 300 the owner may reset the stream without an error")
  func enough() throws {
    let lab = try SessionLab.ready(settings: [(4, 10)])
    let stream = try lab.upload(15)
    lab.receive([.head(200, on: 1, ends: true)])
    #expect(lab.has(.answered(stream)))
    lab.session.reset(stream, .noError)
    #expect(lab.send() == [.reset(0, on: 1)])
    #expect(lab.ending(stream) == nil && lab.session.streams.count == 0)
  }

  @Test("An incomplete response whose stream is reset without an error is a failure")
  func part() throws {
    let lab = try SessionLab.ready(settings: [(4, 10)])
    let stream = try lab.upload(15)
    lab.receive([.head(200, on: 1), .data("o".utf8, on: 1), .reset(0, on: 1)])
    #expect(lab.ending(stream) == .reset(.noError))
    let other = try lab.upload(15)
    lab.receive([.reset(0, on: 3)])
    #expect(lab.ending(other) == .reset(.noError))
  }

  @Test("A complete response is returned whatever code resets its stream afterwards")
  func otherCodes() throws {
    let lab = try SessionLab.ready(settings: [(4, 10)])
    let stream = try lab.upload(15)
    lab.receive([.head(200, on: 1, ends: true), .reset(8, on: 1)])
    #expect(lab.ending(stream) == .whole)
  }
}
