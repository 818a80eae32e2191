// SPDX-License-Identifier: Apache-2.0

import LastroWire
import Testing

@testable import LastroHTTP

/// Frame sequences that would look like a flood by their number alone, and that real servers send for good reasons.
@Suite("Busy but conforming HTTP/2 servers")
struct HTTP2HonestPeerTests {
  @Test(
    "A server may grant credit for each read of an upload, on the stream and on the connection",
    arguments: [(1, 65_536), (100, 1 << 20), (512, 1 << 20), (1_024, 1 << 20)])
  func smallCredits(read: Int, bytes: Int) throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open("POST", body: .stream(length: nil))
    let credit = UInt32(read)
    let grants = WireFrame.windowUpdate(credit, on: 0).bytes + WireFrame.windowUpdate(credit, on: stream.number).bytes
    var (provided, unread) = (0, 0)
    while provided < bytes || unread >= read {
      provided += provided < bytes ? lab.provide(16_384, on: stream) : 0
      lab.send()
      unread += lab.frames(.data).reduce(0) { $0 + $1.payload.count }
      lab.forget()
      lab.receive(Array(repeatElement(grants, count: unread / read).joined()))
      unread %= read
    }
    #expect(lab.session.loss == nil)
  }

  @Test("A server may respond to calls that have timed out, or reset them")
  func lateAnswers() throws {
    let lab = try SessionLab.ready()
    for index in 0..<3_000 {
      let stream = try lab.open()
      lab.session.reset(stream)
      lab.send()
      let head = WireFrame.head(200, [("x", String(repeating: "v", count: 200))], on: stream.number)
      let body = WireFrame.data([UInt8](repeating: 1, count: 500), on: stream.number)
      let trailers = WireFrame.headers([("x-sum", "1")], on: stream.number, ends: true)
      lab.receive(index % 2 == 0 ? [head, body, trailers] : [.reset(8, on: stream.number)])
      lab.forget()
    }
    #expect(lab.session.loss == nil)
  }

  @Test("A server may send RST_STREAM with NO_ERROR after each early response")
  func earlyResponses() throws {
    let lab = try SessionLab.ready(settings: [(4, 1 << 20)])
    lab.receive([.windowUpdate(1 << 30, on: 0)])
    for _ in 0..<3_000 {
      let stream = try lab.upload(1_000, ends: false)
      lab.receive([.head(429, on: stream.number, ends: true), .reset(0, on: stream.number)])
      #expect(lab.ending(stream) == .whole)
      lab.forget()
    }
    #expect(lab.session.loss == nil)
  }

  @Test(
    "Frames without effect are accepted by the thousand; only their bytes are limited",
    arguments: [
      WireFrame(type: 0x42, payload: [1]), .goAway(last: .max), .reset(0, on: 1), .data([], on: 1),
      .headers([("x", "y")], on: 1, ends: true), .windowUpdate(1, on: 1),
    ])
  func idleFrames(frame: WireFrame) throws {
    let lab = try SessionLab.ready()
    _ = try lab.open()
    lab.receive([.head(200, on: 1, ends: true)])
    _ = try lab.open()
    for _ in 0..<20 { lab.receive([WireFrame](repeating: frame, count: 100)) }
    #expect(lab.session.loss == nil)
    for _ in 0..<100 where lab.session.loss == nil { lab.receive([WireFrame](repeating: frame, count: 100)) }
    #expect(lab.violation?.kind == .idleBytes)
    #expect(lab.session.wantsClose)
  }

  @Test("Padding and other overhead up to the size of the bodies is accepted at any time")
  func idleBytesWithProgress() throws {
    let lab = try SessionLab.ready()
    _ = try lab.open()
    lab.receive([.head(200, on: 1)])
    let unknown = WireFrame(type: 0x42, payload: [UInt8](repeating: 0, count: 1_000))
    let body = WireFrame.data([UInt8](repeating: 0, count: 1_100), on: 1)
    for _ in 0..<1_000 { lab.receive([unknown, body]) }
    #expect(lab.session.loss == nil)
  }

  @Test("An empty DATA frame behind each event is accepted indefinitely")
  func emptyData() throws {
    let lab = try SessionLab.ready()
    _ = try lab.open()
    lab.receive([.head(200, on: 1)])
    let event = WireFrame.data("data: 1\n\n".utf8, on: 1)
    for _ in 0..<1_000 { lab.receive([event, .data([], on: 1)]) }
    #expect(lab.session.loss == nil && lab.session.streams.count == 1)
    for _ in 0..<1_000 {
      lab.now += HTTP2Time.second
      lab.receive([.data([], on: 1)])
    }
    #expect(lab.session.loss == nil && lab.session.streams.count == 1)
  }

  @Test("A server that resets streams while others progress keeps its connection")
  func resetsBesideProgress() throws {
    let lab = try SessionLab.ready()
    _ = try lab.open()
    lab.receive([.head(200, on: 1)])
    for _ in 0..<2_000 {
      let stream = try lab.open()
      lab.receive([.reset(2, on: stream.number), .data([1], on: 1)])
      lab.forget()
    }
    #expect(lab.session.loss == nil && !lab.session.isClosedToRequests)
  }

  @Test("Occasional interim responses during a long request are accepted")
  func interimsInTime() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    for _ in 0..<5_000 {
      lab.now += 20 * HTTP2Time.millisecond
      lab.receive([.head(102, on: 1)])
    }
    lab.receive([.head(200, on: 1, ends: true)])
    #expect(lab.ending(stream) == .whole)
  }

  @Test("Ten thousand interim responses to an upload are accepted, at any time after its bytes")
  func interimsOfUpload() throws {
    let lab = try SessionLab.ready(settings: [(4, 1 << 30)])
    lab.receive([.windowUpdate(1 << 30, on: 0)])
    let stream = try lab.open("POST", body: .stream(length: nil))
    for _ in 0..<64 { lab.provide(16_384, on: stream); lab.send() }
    lab.session.endBody(stream)
    for _ in 0..<10_000 { lab.receive([.head(104, [("upload-offset", "1000000")], on: 1)]) }
    lab.receive([.head(200, on: 1, ends: true)])
    #expect(lab.ending(stream) == .whole)
  }

  @Test("Interim heads that exceed the limit of one head in total are accepted")
  func largeInterims() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    let head = WireFrame.head(103, [("link", String(repeating: "v", count: 16_000))], on: stream.number)
    for _ in 0..<40 {
      lab.now += HTTP2Time.second
      lab.receive([head])
    }
    lab.receive([.head(200, on: 1, ends: true)])
    #expect(lab.ending(stream) == .whole)
  }

  @Test("A head may have one CONTINUATION frame for each KiB", arguments: [512, 1_024])
  func continuations(size: Int) throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    let fields = (0..<200).map { ("x-\($0)", String(repeating: "v", count: 1_000)) }
    lab.receive(WireFrame.blocks(WireFrame.block([(":status", "200")] + fields), on: 1, size: size))
    #expect(lab.head(stream)?.fields.count == 200)
    #expect(lab.session.loss == nil)
  }

  @Test("A head may be as large as the configured limit, whatever that is")
  func largeHead() throws {
    var configuration = HTTP2Configuration()
    configuration.limits = ExchangeLimits(headBytes: 1 << 20, fields: 100)
    let lab = try SessionLab.ready(configuration)
    let stream = try lab.open()
    let fields = (0..<15).map { ("x-\($0)", String(repeating: "v", count: 60_000)) }
    lab.receive(WireFrame.blocks(WireFrame.block([(":status", "200")] + fields), on: 1))
    #expect(lab.head(stream)?.fields.count == 15)
    #expect(lab.session.loss == nil)
  }
}

extension WireFrame {
  /// Splits a header block into HEADERS and CONTINUATION frames.
  static func blocks(_ block: [UInt8], on stream: Int32, size: Int = 16_384) -> [Self] {
    stride(from: 0, to: block.count, by: size).map { start in
      let end = min(start + size, block.count)
      return Self(
        type: start == 0 ? 1 : 9, flags: end == block.count ? endHeaders : 0, stream: stream,
        payload: Array(block[start..<end]))
    }
  }
}
