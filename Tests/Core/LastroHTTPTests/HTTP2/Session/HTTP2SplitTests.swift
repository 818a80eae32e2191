// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroHTTP

@Suite("Input in pieces")
struct HTTP2SplitTests {
  /// The events and frames that result from an input. They must not depend on the pieces in which it arrived.
  private struct Trace: Equatable {
    var told: [HTTP2Event]
    var bodies: [Int32: [UInt8]]
    var sent: [WireFrame]
  }

  /// The answers to eleven requests, of all kinds and including uploads, and the end of their connection.
  private static let input: [UInt8] = {
    let large = [("x-large", String(repeating: "v", count: 40_000))]
    let block = WireFrame.block([(":status", "200"), ("x-a", "1")] + large)
    let parts = [block[..<16_000], block[16_000..<32_000], block[32_000...]].map { Array($0) }
    var padded = WireFrame.data([4] + Array("pads".utf8) + [0, 0, 0, 0], on: 5)
    padded.flags |= WireFrame.padded
    let frames: [WireFrame] = [
      .settings([(4, 100_000)]), .settingsAck,
      .head(103, [("link", "</a>")], on: 1), .head(200, [("content-length", "6")], on: 1),
      .data("foo".utf8, on: 1), .data("bar".utf8, on: 1, ends: true), .ping(),
      .head(200, [("set-cookie", "a=b")], on: 5), padded, .data("x".utf8, on: 5),
      .headers([("x-sum", "1")], on: 5, ends: true), .head(204, on: 3, ends: true),
      WireFrame(type: 1, flags: WireFrame.endStream, stream: 7, payload: parts[0]),
      WireFrame(type: 9, stream: 7, payload: parts[1]),
      WireFrame(type: 9, flags: WireFrame.endHeaders, stream: 7, payload: parts[2]),
      .reset(7, on: 9), .reset(2, on: 11),
      .head(413, on: 13), .data("no".utf8, on: 13, ends: true), .reset(0, on: 13),
      .headers([(":status", "200"), ("Bad", "x")], on: 15, ends: true),
      .head(200, [("content-length", "3")], on: 17), .data("four".utf8, on: 17, ends: true),
      .windowUpdate(1_000, on: 0), .goAway(last: 19, 0, "bye"), .head(200, on: 19, ends: true),
      WireFrame(type: 0x77, stream: 0, payload: [1, 2, 3]),
    ]
    return frames.flatMap(\.bytes)
  }()

  private func trace(_ parts: (SessionLab) throws -> Void) throws -> Trace {
    let lab = try SessionLab()
    for index in 0..<11 {
      if index % 3 == 0 {
        let stream = try #require(
          lab.session.open(try SessionLab.request("POST"), body: .stream(length: 10), now: lab.now))
        lab.provide(10, on: stream)
        if index != 6 { lab.session.endBody(stream) }
      } else {
        _ = lab.session.open(try SessionLab.request(), now: lab.now)
      }
    }
    lab.send()
    lab.forget()
    try parts(lab)
    // If a body exceeds its announced length, the session may report bytes that arrived before the excess is detected.
    // A reset may be omitted if the server's own reset arrived with its cause.
    return Trace(
      told: lab.told, bodies: lab.bodies.filter { $0.key != 17 }, sent: lab.sent.filter { $0 != .reset(0, on: 13) })
  }

  @Test("Input in one piece reports all events")
  func whole() throws {
    let trace = try trace { $0.receive(Self.input) }
    let endings = trace.told.compactMap { event -> HTTP2Ending? in
      if case .closed(_, let ending) = event { ending } else { nil }
    }
    #expect(endings.count == 11)
    #expect(endings.count { $0 == .whole } == 6)
    #expect(trace.bodies[1] == Array("foobar".utf8))
    #expect(trace.bodies[5] == Array("padsx".utf8))
  }

  @Test("Input byte by byte reports the same events")
  func bytes() throws {
    let whole = try trace { $0.receive(Self.input) }
    let bytes = try trace { lab in for byte in Self.input { lab.receive([byte]) } }
    let (one, other) = (sorted(whole), sorted(bytes))
    #expect(one.told == other.told)
    #expect(one.bodies == other.bodies)
    #expect(one.sent == other.sent)
  }

  @Test("Input split at any byte reports the same events")
  func everySplit() throws {
    let whole = sorted(try trace { $0.receive(Self.input) })
    // The test splits at every position, but within the large head only at each 97th.
    let large = Self.input.count - 42_000..<Self.input.count - 1_500
    let splits = (1..<Self.input.count).filter { !large.contains($0) || $0 % 97 == 0 }
    #expect(splits.count > 1_000)
    let firstDifferent = try splits.first { split in
      let parts = sorted(
        try trace { lab in
          lab.receive(Array(Self.input[..<split]))
          lab.receive(Array(Self.input[split...]))
        })
      return parts != whole
    }
    #expect(firstDifferent == nil)
  }

  /// Sorts the events by stream. The order among streams may differ if one stream's end waits for output.
  private func sorted(_ trace: Trace) -> Trace {
    func number(_ event: HTTP2Event) -> Int32 { event.stream?.number ?? 0 }
    var result = trace
    result.told = trace.told.enumerated().sorted { (number($0.element), $0.offset) < (number($1.element), $1.offset) }
      .map(\.element)
    result.sent = trace.sent.enumerated().sorted { ($0.element.stream, $0.offset) < ($1.element.stream, $1.offset) }
      .map(\.element)
    return result
  }
}
