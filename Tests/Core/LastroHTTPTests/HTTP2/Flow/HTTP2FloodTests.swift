// SPDX-License-Identifier: Apache-2.0

import LastroWire
import Testing

@testable import LastroHTTP

@Suite("Floods on an HTTP/2 connection")
struct HTTP2FloodTests {
  /// Asserts that the connection ended with GOAWAY and that every stream ended.
  private func expectEnd(
    _ lab: SessionLab, _ kind: HTTP2Violation.Kind, _ text: String,
    code: HTTP2ErrorCode = .enhanceYourCalm, location: SourceLocation = #_sourceLocation
  ) {
    #expect(lab.violation?.kind == kind, sourceLocation: location)
    #expect(lab.violation?.message == text, sourceLocation: location)
    #expect(
      lab.frames(.goAway).map { Array($0.payload[4..<8]) } == [WireFrame.bytes(code.rawValue)], sourceLocation: location
    )
    #expect(lab.session.wantsClose && lab.session.streams.count == 0, sourceLocation: location)
    #expect(lab.told.last == .retired, sourceLocation: location)
  }

  static let controls: [(WireFrame, String)] = [
    (.settings(), "SETTINGS"), (.ping(), "PING"), (.priority(on: 1), "PRIORITY"),
    (.windowUpdate(1, on: 0), "WINDOW_UPDATE"), (.windowUpdate(1, on: 1), "WINDOW_UPDATE"),
  ]

  private func excess(of name: String) -> String {
    "the server floods the connection with \(name) frames: more than 1000 at once, or 100 a second"
  }

  @Test("A flood of control frames closes the connection after a thousand within ten seconds", arguments: controls)
  func control(frame: WireFrame, name: String) throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    lab.now += 20 * HTTP2Time.second
    for _ in 0..<10 { lab.receive([WireFrame](repeating: frame, count: 100)) }
    #expect(lab.session.loss == nil)
    lab.receive([frame])
    expectEnd(lab, .controlFrames, excess(of: name))
    guard case .lost(.violation(let violation))? = lab.ending(stream) else { Issue.record("not lost"); return }
    #expect(violation.message == excess(of: name))
  }

  @Test("A thousand control frames in each ten seconds are accepted", arguments: controls)
  func controlInTime(frame: WireFrame, name: String) throws {
    let lab = try SessionLab.ready()
    _ = try lab.open()
    for _ in 0..<5 {
      lab.now += 10 * HTTP2Time.second
      for _ in 0..<9 { lab.receive([WireFrame](repeating: frame, count: 100)) }
    }
    #expect(lab.session.loss == nil)
  }

  @Test("Control frames within a single read are counted like others")
  func oneSegment() throws {
    let lab = try SessionLab.ready()
    lab.receive([WireFrame](repeating: .ping(), count: 100_000))
    #expect(lab.violation != nil)
    #expect(lab.session.wantsClose)
  }

  @Test("WINDOW_UPDATE and PING are accepted in proportion to an upload")
  func provoked() throws {
    let lab = try SessionLab.ready(settings: [(4, 1 << 30)])
    lab.receive([.windowUpdate(1 << 30, on: 0)])
    let stream = try lab.open("POST", body: .stream(length: nil))
    for _ in 0..<1_000 {
      lab.provide(16_384, on: stream)
      lab.send()
      lab.receive([WireFrame](repeating: .windowUpdate(1_638, on: 0), count: 10) + [.ping()])
    }
    #expect(lab.session.loss == nil)
  }

  @Test(
    "Empty DATA frames reset the stream after a hundred, and keep the connection", arguments: [false, true])
  func emptyData(isPadded: Bool) throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    let other = try lab.open()
    var frame = WireFrame.data([], on: 1)
    if isPadded {
      frame = WireFrame(type: 0, flags: WireFrame.padded, stream: 1, payload: [9] + [UInt8](repeating: 0, count: 9))
    }
    lab.receive([.head(200, on: 1)] + [WireFrame](repeating: frame, count: 100))
    #expect(lab.ending(stream) == nil && lab.session.loss == nil && lab.bodies.isEmpty)
    lab.receive([frame])
    let text = "the server sent more than 100 empty DATA frames without data between them"
    #expect(lab.ending(stream) == .broken(HTTP2Violation(.emptyData, text)))
    #expect(lab.frames(.resetStream, on: 1).map(\.number) == [HTTP2ErrorCode.enhanceYourCalm.rawValue])
    lab.receive([.head(200, on: 3, ends: true)])
    #expect(lab.ending(other) == .whole && lab.session.loss == nil)
    // The stream is closed, so its frames count toward the budget of idle bytes.
    for _ in 0..<2_000 where lab.session.loss == nil { lab.receive([WireFrame](repeating: frame, count: 100)) }
    expectEnd(lab, .idleBytes, "the server floods the connection with frames of closed streams, or of unknown types")
  }

  @Test("A server that resets almost every stream gets no new requests, and running ones finish")
  func resets() throws {
    let lab = try SessionLab.ready()
    let running = try lab.open()
    for index in 0..<200 {
      let stream = try lab.open()
      lab.receive(index % 11 == 0 ? [.head(200, on: stream.number, ends: true)] : [.reset(8, on: stream.number)])
    }
    #expect(!lab.session.isClosedToRequests)
    for _ in 0..<101 where lab.session.freeStreams > 0 {
      let stream = try lab.open()
      lab.receive([.reset(2, on: stream.number)])
    }
    #expect(lab.session.isClosedToRequests)
    #expect(lab.told.count { $0 == .retired } == 1)
    #expect(lab.session.loss == nil)
    lab.receive([.head(200, on: running.number), .data([1], on: running.number, ends: true)])
    #expect(lab.ending(running) == .whole && lab.session.loss == nil)
    lab.session.close()
    lab.send()
    #expect(lab.session.wantsClose)
  }

  @Test("A server that refuses requests, as an overloaded one does, keeps its connection")
  func refusals() throws {
    let lab = try SessionLab.ready()
    let long = try lab.open()
    for _ in 0..<1_001 {
      let stream = try lab.open()
      lab.receive([.reset(7, on: stream.number)])
      #expect(lab.ending(stream) == .unprocessed(.refused))
      lab.forget()
    }
    lab.receive([.head(200, on: long.number, ends: true)])
    #expect(lab.ending(long) == .whole && lab.session.loss == nil)
    #expect(!lab.session.isClosedToRequests)
    // A reset after the beginning of an answer does not count as a refusal.
    for _ in 0...HTTP2FloodGuard.resets.burst where lab.session.freeStreams > 0 {
      let stream = try lab.open()
      lab.receive([.head(200, on: stream.number), .reset(7, on: stream.number)])
    }
    #expect(lab.session.isClosedToRequests && lab.session.loss == nil)
  }

  @Test("Some resets at once are accepted, and more over time and after responses")
  func manyResets() throws {
    var floods = HTTP2FloodGuard()
    for _ in 0..<HTTP2FloodGuard.resets.burst {
      let isAllowed = floods.wasReset(now: 5)
      #expect(isAllowed)
    }
    let isAllowed = floods.wasReset(now: 5)
    #expect(!isAllowed)
    var answering = HTTP2FloodGuard()
    var slow = HTTP2FloodGuard()
    for index in 0..<5_000 {
      if index % 10 == 0 { answering.responded() }
      let isAllowed = answering.wasReset(now: 5)
      #expect(isAllowed)
      let isAllowedSlowly = slow.wasReset(now: UInt64(index) * HTTP2Time.second / 30)
      #expect(isAllowedSlowly)
    }
  }

  @Test("Heads over the limit reset the stream and keep the connection")
  func largeHead() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    let other = try lab.open()
    // A single field of more than 64 KiB would end the connection, so each field is smaller.
    let fields = [60_000, 60_000, 60_000, 60_000, 28_000].map { ("x", String(repeating: "v", count: $0)) }
    lab.receive(WireFrame.blocks(WireFrame.block([(":status", "200")] + fields), on: 1))
    #expect(lab.ending(stream) == .broken(HTTP2Violation(.headTooLarge, "the response head exceeds 262144 bytes")))
    lab.receive([.head(200, on: 3, ends: true)])
    #expect(lab.ending(other) == .whole)
    // Trailers count toward the same limit as the head.
    let trailers = try lab.open()
    lab.receive(
      WireFrame.blocks(WireFrame.block([(":status", "200")] + fields.dropLast()), on: 5)
        + [.headers([("x", String(repeating: "v", count: 16_000))], on: 5, ends: true)])
    #expect(lab.ending(trailers) == .whole)
    let long = try lab.open()
    let both = WireFrame.blocks(WireFrame.block([(":status", "200")] + fields.dropLast()), on: 7)
    var end = WireFrame.blocks(WireFrame.block([("x", String(repeating: "v", count: 30_000))]), on: 7)
    end[0].flags |= WireFrame.endStream
    lab.receive(both + end)
    #expect(lab.ending(long) == .broken(HTTP2Violation(.headTooLarge, "the response head exceeds 262144 bytes")))
    #expect(lab.session.loss == nil)
  }

  @Test("A field larger than nghttp2 accepts closes the connection and is reported as a limit")
  func largeField() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    let block = WireFrame.block([(":status", "200"), ("x", String(repeating: "v", count: 65_537))])
    lab.receive(WireFrame.blocks(block, on: 1))
    expectEnd(
      lab, .fieldTooLarge, "a field of the response exceeds the HTTP/2 maximum of 65536 bytes, or is not valid HPACK",
      code: .compressionError)
    #expect(lab.ending(stream) == lab.session.loss.map { .lost($0) })
    let largest = try SessionLab.ready()
    let other = try largest.open()
    largest.receive(
      WireFrame.blocks(WireFrame.block([(":status", "200"), ("x", String(repeating: "v", count: 65_536))]), on: 1))
    #expect(largest.head(other)?.fields.map(\.value.utf8.count) == [65_536])
  }

  @Test("Fields whose decoded sum exceeds the limit reset the stream, however small they are on the wire")
  func bomb() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    let other = try lab.open()
    // The block adds one table entry of 4,000 bytes (RFC 7541 §6.2.1), followed by references of one byte each.
    let entry = WireFrame.block([("x", String(repeating: "v", count: 4_000))])
    let block =
      WireFrame.block([(":status", "200")]) + [0x40] + entry.dropFirst() + [UInt8](repeating: 0xBE, count: 9_000)
    lab.receive(WireFrame.blocks(block, on: 1))
    guard case .broken(let violation)? = lab.ending(stream) else { Issue.record("no violation was reported"); return }
    #expect(violation == HTTP2Violation(.headTooLarge, "the response head exceeds 262144 bytes"))
    #expect(lab.frames(.resetStream).map(\.number) == [HTTP2ErrorCode.enhanceYourCalm.rawValue])
    lab.receive([.head(200, on: 3, ends: true)])
    #expect(lab.ending(other) == .whole)
  }

  @Test("Interim responses reset the stream if they exceed the limit together, or one head is too large")
  func interims() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    lab.receive([WireFrame](repeating: .head(103, on: 1), count: 32))
    #expect(lab.ending(stream) == nil)
    lab.receive([.head(103, on: 1)])
    let flood = HTTP2Violation(
      .tooManyInterimResponses, "the server sent more than 32 interim responses without progress")
    #expect(lab.ending(stream) == .broken(flood))
    let large = try lab.open()
    let fields = [60_000, 60_000, 60_000, 60_000, 28_000].map { ("x", String(repeating: "v", count: $0)) }
    lab.receive(WireFrame.blocks(WireFrame.block([(":status", "103")] + fields), on: large.number))
    #expect(lab.ending(large) == .broken(HTTP2Violation(.headTooLarge, "the response head exceeds 262144 bytes")))
    #expect(lab.session.loss == nil)
  }

  @Test("Too many fields reset the stream, in heads and in trailers")
  func fields() throws {
    let lab = try SessionLab.ready()
    let many = (0..<501).map { ("x\($0)", "") }
    let head = try lab.open()
    lab.receive([.head(200, many, on: head.number)])
    let trailers = try lab.open()
    lab.receive([.head(200, on: trailers.number), .headers(many, on: trailers.number, ends: true)])
    for stream in [head, trailers] {
      #expect(
        lab.ending(stream) == .broken(HTTP2Violation(.tooManyFields, "the response head has more than 500 fields")))
    }
  }

  @Test("Small CONTINUATION frames close the connection after sixteen in one head", arguments: [16, 17])
  func continuations(count: Int) throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    let fields = WireFrame.block([(":status", "200")] + (0..<count + 1).map { ("x-\($0)", "v") })
    let size = fields.count / (count + 1)
    var frames = WireFrame.blocks(Array(fields[..<(size * count)]), on: 1, size: size)
    frames[count - 1].flags = 0
    frames.append(
      WireFrame(type: 9, flags: WireFrame.endHeaders, stream: 1, payload: Array(fields[(size * count)...])))
    #expect(frames.count == count + 1)
    // The test passes single bytes, because nghttp2 counts parts of frames.
    for byte in frames.flatMap(\.bytes) where lab.session.loss == nil { lab.receive([byte]) }
    if count == 16 {
      #expect(lab.head(stream)?.fields.count == 17)
    } else {
      expectEnd(lab, .continuations, "the server sent a head in more than 16 CONTINUATION frames with little content")
    }
  }

  @Test("A head that never ends closes the connection, whatever its frames contain", arguments: [1_024, 16_384])
  func endlessHead(size: Int) throws {
    let lab = try SessionLab.ready()
    _ = try lab.open()
    let field = WireFrame.block([("x", String(repeating: "v", count: size - 8))])
    lab.receive([WireFrame(type: 1, stream: 1, payload: WireFrame.block([(":status", "200")]))])
    for _ in 0..<10_000 where lab.session.loss == nil {
      lab.receive([WireFrame](repeating: WireFrame(type: 9, stream: 1, payload: field), count: 10))
    }
    expectEnd(lab, .continuations, "the server sent a head of more than 589824 bytes in encoded form")
  }

  @Test("More WINDOW_UPDATE credit than an upload's bytes justify closes the connection")
  func excessiveCredit() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.upload(100)
    lab.receive([WireFrame](repeating: .windowUpdate(1, on: 0), count: 2 * 100))
    lab.receive([WireFrame](repeating: .windowUpdate(1, on: stream.number), count: 900))
    #expect(lab.session.loss == nil)
    lab.receive([WireFrame](repeating: .windowUpdate(1, on: 0), count: 101))
    #expect(lab.violation?.message == excess(of: "WINDOW_UPDATE"))
  }

  @Test("A pushed response closes the connection", arguments: [true, false])
  func push(isAcknowledged: Bool) throws {
    let lab = try SessionLab()
    lab.send()
    lab.receive(isAcknowledged ? [.settings(), .settingsAck] : [.settings()])
    lab.forget()
    _ = try lab.open()
    lab.receive([.push(2, on: 1)])
    expectEnd(lab, .push, "the server pushes responses although push is disabled", code: .protocolError)
  }

  @Test("A body that continues after the end of its stream closes the connection")
  func unaskedBytes() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.open()
    lab.receive([.head(200, on: 1)])
    lab.session.reset(stream)
    lab.send()
    let frame = WireFrame.data([UInt8](repeating: 1, count: 16_384), on: 1)
    // As many bytes as the window allowed may still be in flight.
    for _ in 0..<64 { lab.receive([frame]) }
    #expect(lab.session.loss == nil)
    for _ in 0..<5 where lab.session.loss == nil { lab.receive([frame]) }
    expectEnd(lab, .idleBytes, "the server floods the connection with frames of closed streams, or of unknown types")
  }

  @Test("Too many settings in a frame, or too many unsent replies, close the connection by nghttp2's own limits")
  func library() throws {
    let lab = try SessionLab.ready()
    lab.receive([.settings([(UInt16, UInt32)](repeating: (4, 65_535), count: 33))])
    #expect(lab.violation?.kind == .connection)
    let silent = try SessionLab.ready()
    // This client sends nothing, so its answers pile up.
    let bytes = [WireFrame](repeating: .ping(), count: 1_000).flatMap(\.bytes)
    bytes.withUnsafeBytes { silent.session.receive($0, now: silent.now) }
    #expect(silent.session.loss == nil)
    silent.now += HTTP2Time.second
    WireFrame.settings().bytes.withUnsafeBytes { silent.session.receive($0, now: silent.now) }
    #expect(silent.violation?.kind == .connection)
  }
}
