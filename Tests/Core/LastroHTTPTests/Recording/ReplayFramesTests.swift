// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Lastro
@testable import LastroHTTP

@Suite("HTTP/2 frames of a trace")
struct ReplayFramesTests {
  /// Returns the pieces of frames that arrive in parts.
  private func pieces(of parts: [[UInt8]]) -> [[FramePiece]] {
    let reader = HTTP2FrameReader(ofClient: false)
    return parts.map { part in
      var pieces: [FramePiece] = []
      part.withUnsafeBytes { bytes in
        reader.read(bytes) { part in
          var piece = FramePiece()
          switch part {
          case .head(let head): piece.head = head
          case .payload(let bytes): piece.payload = Array(bytes)
          case .fields(let fields, let isInvalid): (piece.fields, piece.isInvalid) = (fields, isInvalid)
          case .end: piece.isEnd = true
          }
          pieces.append(piece)
        }
      }
      return pieces
    }
  }

  /// Returns the parts as a replay delivers them, after their way through the text of a trace.
  private func replayed(_ parts: [[UInt8]]) throws -> [[UInt8]] {
    let mask = TraceMask(redaction: Redaction.standard.keepingLengths, keepsBodies: true)
    let events = try mask.frames(pieces(of: parts)).events.map { frames in
      var event = TraceEvent(.read)
      event.frames = frames
      return try JSONDecoder().decode(TraceEvent.self, from: Data(event.jsonText().utf8)).frames ?? []
    }
    let frames = ReplayFrames(events.enumerated().map { ($0.offset, $0.element) })
    // The session of the test has sent one SETTINGS frame, which was acknowledged.
    var gate = ReplayGate()
    return events.indices.map { frames.bytes(of: $0, through: &gate) }
  }

  private func session(receiving parts: [[UInt8]]) throws -> SessionLab {
    let lab = try SessionLab.ready()
    for _ in 0..<3 { _ = try lab.open() }
    lab.forget()
    for part in parts { lab.receive(part) }
    return lab
  }

  /// Asserts that a session reports the same for frames and for their replay, in parts of different sizes.
  private func expectSame(_ bytes: [UInt8]) throws {
    for size in [1, 2, 7, 100, bytes.count] {
      let parts = stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
      let recorded = try session(receiving: parts), replayed = try session(receiving: replayed(parts))
      #expect(replayed.told == recorded.told, "in parts of \(size)")
      #expect(replayed.bodies.mapValues(\.count) == recorded.bodies.mapValues(\.count), "in parts of \(size)")
      #expect(replayed.session.loss == recorded.session.loss, "in parts of \(size)")
      #expect(replayed.session.streamWithinHead == recorded.session.streamWithinHead, "in parts of \(size)")
    }
  }

  @Test(
    "A session reports the same for malformed responses and for their replay", arguments: HTTP2BrokenAnswerTests.streams
  )
  func broken(name: String, frames: [WireFrame], kind: HTTP2Violation.Kind) throws {
    try expectSame(frames.flatMap(\.bytes))
  }

  @Test("Padding, priorities, continuations and frames of the connection are replayed")
  func whole() throws {
    let block = WireFrame.block([(":status", "200"), ("x-a", "1"), ("x-large", String(repeating: "v", count: 40_000))])
    let blocks = [block[..<16_000], block[16_000..<32_000], block[32_000...]].map { Array($0) }
    let frames: [WireFrame] = [
      .head(103, [("link", "</a>")], on: 1),
      WireFrame(
        type: 1, flags: WireFrame.endHeaders | WireFrame.padded | 0x20, stream: 1,
        payload: [3, 0, 0, 0, 0, 9] + WireFrame.block([(":status", "200"), ("x-b", "2")]) + [0, 0, 0]),
      WireFrame(type: 0, flags: WireFrame.padded, stream: 1, payload: [2] + Array("pads".utf8) + [0, 0]),
      WireFrame(type: 1, flags: WireFrame.endStream, stream: 3, payload: blocks[0]),
      WireFrame(type: 9, stream: 3, payload: blocks[1]),
      WireFrame(type: 9, flags: WireFrame.endHeaders, stream: 3, payload: blocks[2]),
      .ping(), .settings([(4, 100_000)]), .windowUpdate(1_000, on: 0), .reset(7, on: 5),
      .headers([("x-sum", "1")], on: 1, ends: true), WireFrame(type: 0x77, payload: [1, 2, 3]),
      .goAway(last: 1, 0, "bye"),
    ]
    try expectSame(frames.flatMap(\.bytes))
  }

  @Test("A block that is no HPACK, excessive padding, and heads that do not end have the same outcome")
  func invalid() throws {
    let head = WireFrame.head(200, [("x-a", "1"), ("x-b", String(repeating: "b", count: 300))], on: 1).bytes
    try expectSame(Array(head.dropLast(1)))
    try expectSame(Array(head.prefix(30)))
    try expectSame(Array(head.prefix(10)))
    try expectSame(WireFrame(type: 1, flags: WireFrame.endHeaders, stream: 1, payload: [0x88, 0xFF, 0xFF, 0xFF]).bytes)
    try expectSame(
      WireFrame(type: 1, flags: WireFrame.endHeaders | WireFrame.padded, stream: 1, payload: [200, 0x88]).bytes)
  }

  @Test("A head that refers to earlier ones is decoded, so that it can be replayed alone")
  func references() throws {
    let first = WireFrame(
      type: 1, flags: 5, stream: 1, payload: [0x88, 0x40, 3] + Array("x-a".utf8) + [1] + Array("7".utf8))
    // The entry 62 is the first one of the dynamic table.
    let second = WireFrame(type: 1, flags: 5, stream: 3, payload: [0x88, 0xBE])
    let parts = try replayed([first.bytes, second.bytes])
    let lab = try session(receiving: [parts[1]])
    #expect(lab.told.first == .head(HTTP2Stream(number: 3, slot: 1), .http2(200, [("x-a", "7")])))
  }

  @Test("Requests leave a replayed connection as they left the recorded one")
  func gate() throws {
    func sent(_ type: UInt8, _ stream: Int32, _ count: Int = 0) -> TraceFrame {
      var piece = FramePiece(.init(type: type, flags: 0, stream: stream, length: count))
      piece.left = count
      return TraceMask(redaction: .standard, keepsBodies: false).frames([[piece]]).events[0][0]
    }
    func pass(_ gate: inout ReplayGate, _ bytes: [UInt8]) -> Int { bytes.withUnsafeBytes { gate.pass($0) } }
    var gate = ReplayGate()
    #expect(pass(&gate, WireFrameParser.preface + WireFrame.settings().bytes) == 33)
    let first = WireFrame.head(200, on: 1).bytes
    #expect(pass(&gate, first) == first.count && gate.opened == [1])
    gate.limit(unacknowledged: 2)
    let head = WireFrame.head(200, on: 3).bytes, body = WireFrame.data([1, 2, 3, 4], on: 3, ends: true).bytes
    #expect(pass(&gate, WireFrame.ping().bytes + head) == 17 && gate.isStuck)
    gate.allow([sent(1, 57)])
    #expect(pass(&gate, head + body) == head.count + 9 && gate.isStuck)
    gate.allow([sent(0, 57, 4)])
    #expect(pass(&gate, Array(body.dropFirst(9))) == 4 && !gate.isStuck)
    #expect(gate.stream(57) == 3 && gate.stream(55) == 1 && gate.stream(59) == 59 && gate.stream(0) == 0)
    #expect(gate.acknowledgeSettings() && !gate.acknowledgeSettings())
    #expect(gate.lastStream(57) == 3 && gate.lastStream(55) == 1 && gate.lastStream(.max) == .max)
  }
}
