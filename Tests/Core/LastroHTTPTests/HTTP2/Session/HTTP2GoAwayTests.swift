// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroHTTP

@Suite("GOAWAY")
struct HTTP2GoAwayTests {
  /// Plays a server that receives some of a hundred uploads, sends GOAWAY, and answers the accepted ones.
  ///
  /// - Parameter frames: the number of the client's frames that the server reads before it sends GOAWAY.
  private func goAway(after frames: Int, allFrames: inout Int) throws -> (unprocessed: Int, answered: Int) {
    let lab = try SessionLab.ready()
    var streams: [HTTP2Stream] = []
    for _ in 0..<100 {
      let stream = try #require(
        lab.session.open(try SessionLab.request("POST"), body: .stream(length: 10), now: lab.now))
      lab.provide(10, on: stream)
      lab.session.endBody(stream)
      streams.append(stream)
    }
    let sent = lab.send().filter { $0.stream != 0 }
    allFrames = sent.count
    // GOAWAY names the last stream whose head arrived. The server processes every complete request up to that stream.
    let seen = sent.prefix(frames)
    let last = seen.map(\.stream).max() ?? 0
    lab.receive([.goAway(last: last)])
    let processed = Set(sent.filter { $0.stream <= last && $0.type == 0 && $0.ends }.map(\.stream))
    for stream in processed.sorted() { lab.receive([.head(200, on: stream, ends: true)]) }
    var counts = (unprocessed: 0, answered: 0)
    for stream in streams {
      switch lab.ending(stream) {
      case .whole where processed.contains(stream.number): counts.answered += 1
      case .unprocessed(.aboveGoAway) where !processed.contains(stream.number): counts.unprocessed += 1
      case let ending: Issue.record("stream \(stream.number) of \(last): \(String(describing: ending))")
      }
    }
    #expect(lab.session.freeStreams == 0 && lab.session.streams.count == 0)
    #expect(lab.session.wantsClose)
    return counts
  }

  @Test("With GOAWAY at any point of a hundred uploads, each is processed once or reported as unprocessed")
  func everyPoint() throws {
    var all = 0
    _ = try goAway(after: 0, allFrames: &all)
    #expect(all == 200)
    for frames in 0...all {
      let counts = try goAway(after: frames, allFrames: &all)
      #expect(counts.unprocessed + counts.answered == 100)
    }
  }

  @Test("Requests that were never sent are distinguished from those that the server did not process")
  func unsent() throws {
    let lab = try SessionLab.ready()
    let sent = try lab.open("POST", body: .stream(length: nil))
    let queued = try #require(lab.session.open(try SessionLab.request("POST"), now: lab.now))
    lab.receive([.goAway(last: 0, 0xB, "calm down")])
    #expect(lab.has(.retired))
    #expect(lab.ending(sent) == .unprocessed(.aboveGoAway))
    #expect(lab.ending(queued) == .unprocessed(.unsent))
    #expect(!lab.frames(.headers).contains { $0.stream == 3 })
    #expect(lab.session.goAwayCode == .enhanceYourCalm)
  }

  @Test("A first GOAWAY is a notice, and the second names the last stream")
  func notice() throws {
    let lab = try SessionLab.ready()
    let first = try lab.open()
    let second = try lab.open()
    lab.receive([.goAway(last: .max)])
    #expect(lab.has(.retired))
    #expect(lab.session.streams.count == 2 && lab.session.freeStreams == 0)
    #expect(lab.session.open(try SessionLab.request(), now: lab.now) == nil)
    lab.receive([.goAway(last: 1)])
    #expect(lab.ending(second) == .unprocessed(.aboveGoAway))
    lab.receive([.head(200, on: 1), .data([1], on: 1)])
    #expect(!lab.session.wantsClose)
    lab.receive([.data([2], on: 1, ends: true)])
    #expect(lab.ending(first) == .whole)
    #expect(lab.session.wantsClose)
  }

  @Test("A lower last stream in a second GOAWAY applies, and a higher one is a violation")
  func second() throws {
    let lab = try SessionLab.ready()
    let streams = try (0..<3).map { _ in try lab.open() }
    lab.receive([.goAway(last: 5)])
    #expect(lab.session.streams.count == 3)
    lab.receive([.goAway(last: 1)])
    #expect(lab.ending(streams[1]) == .unprocessed(.aboveGoAway))
    #expect(lab.ending(streams[2]) == .unprocessed(.aboveGoAway))
    lab.receive([.goAway(last: 3)])
    #expect(lab.violation?.kind == .connection)
    guard case .lost(.violation)? = lab.ending(streams[0]) else { Issue.record("not lost"); return }
  }

  @Test("A response that began above the last stream stays delivered")
  func contradiction() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    lab.receive([.head(200, on: 1), .data([1], on: 1), .goAway(last: 0)])
    #expect(lab.ending(stream) == .reset(.refusedStream))
  }

  @Test(
    "A GOAWAY with an error gives the reason for the end of the connection",
    arguments: [HTTP2ErrorCode.enhanceYourCalm, .noError])
  func ends(code: HTTP2ErrorCode) throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    lab.receive([.goAway(last: 1, code.rawValue)])
    lab.session.connectionEnded()
    lab.drain([])
    let loss = HTTP2Loss.closed(code == .noError ? nil : code)
    #expect(lab.ending(stream) == .lost(loss))
    #expect(lab.session.loss == loss && lab.told.last == .closed(stream, .lost(loss)))
    #expect(lab.session.wantsClose)
  }

  @Test("Without GOAWAY, a broken connection still reports requests that had not been sent")
  func broken() throws {
    let lab = try SessionLab.ready()
    let sent = try lab.open()
    let queued = try #require(lab.session.open(try SessionLab.request("POST"), now: lab.now))
    lab.session.connectionEnded()
    lab.drain([])
    #expect(lab.ending(sent) == .lost(.closed(nil)))
    #expect(lab.ending(queued) == .unprocessed(.unsent))
    #expect(lab.session.open(try SessionLab.request(), now: lab.now) == nil)
    #expect(lab.send().isEmpty)
  }
}
