// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroWire
import TestSupport
import Testing

@testable import LastroHTTP

/// What is said of servers and requests that break HTTP/2, as `HTTP2ErrorTexts.txt` beside this file has it.
@Suite("Error texts of HTTP/2")
struct HTTP2ErrorTextsTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "HTTP2ErrorTexts.txt")

  @Test("are those of the file; LASTRO_RENEW=1 writes it anew")
  func golden() throws {
    let made = (try Self.streams() + Self.connections() + Self.requests()).map { $0 + "\n" }.joined()
    try expectGolden(made, keptIn: Self.file)
  }

  /// nghttp2's words differ with its version.
  private static func line(_ violation: HTTP2Violation) -> String {
    "HTTP2Violation | " + violation.message.replacing(#/HTTP/2: .*/#, with: "HTTP/2: NGHTTP2'S WORDS")
  }

  /// What loses a stream.
  private static func streams() throws -> [String] {
    var answers = HTTP2BrokenAnswerTests.streams.map(\.1)
    answers += [
      [.head(200, (0..<501).map { ("x\($0)", "") }, on: 1)],
      [WireFrame](repeating: .head(103, on: 1), count: 33),
      [.head(200, on: 1)] + [WireFrame](repeating: .data([], on: 1), count: 101),
      WireFrame.blocks(
        WireFrame.block([(":status", "200")] + (0..<5).map { ("x-\($0)", String(repeating: "v", count: 60_000)) }),
        on: 1),
      [.windowUpdate(0x7FFF_FFFF, on: 1)],
      [.head(200, on: 1)] + [WireFrame](repeating: .data([UInt8](repeating: 0, count: 16_384), on: 1), count: 65),
    ]
    var lines: [String] = []
    for answer in answers {
      let lab = try SessionLab.ready()
      lab.reads = false
      let stream = try lab.open()
      lab.receive(answer)
      guard case .broken(let violation)? = lab.ending(stream) else { continue }
      lines.append(line(violation))
    }
    for length: Int64 in [1, 3] {
      let lab = try SessionLab.ready()
      let stream = try lab.open("POST", body: .stream(length: length))
      lab.provide(2, on: stream)
      lab.session.endBody(stream)
      lab.send()
      guard case .broken(let violation)? = lab.ending(stream) else { continue }
      lines.append(line(violation))
    }
    for isHead in [true, false] {
      let lab = try SessionLab.ready()
      var large = isHead ? try SessionLab.request() : HTTP2Fields()
      try large.add("x", String(repeating: "v", count: HTTP2Fields.maximumBytes))
      let head = isHead ? large : try SessionLab.request()
      let stream = try #require(lab.session.open(head, body: .stream(length: nil), now: lab.now))
      if !isHead { lab.session.endBody(stream, trailers: large) }
      lab.send()
      guard case .broken(let violation)? = lab.ending(stream) else { continue }
      lines.append(line(violation))
    }
    return unique(lines)
  }

  /// What ends a connection.
  private static func connections() throws -> [String] {
    let unknown = WireFrame(type: 0x42)
    let floods: [[WireFrame]] =
      HTTP2FloodTests.controls.map { [WireFrame](repeating: $0.0, count: 1_001) } + [
        [WireFrame](repeating: unknown, count: 10_000), [.push(2, on: 1)],
        [WireFrame(type: 1, stream: 1, payload: [0x88])]
          + [WireFrame](repeating: WireFrame(type: 9, stream: 1), count: 17),
        [WireFrame(type: 1, stream: 1, payload: [0x88])]
          + [WireFrame](
            repeating: WireFrame(
              type: 9, stream: 1, payload: WireFrame.block([("x", String(repeating: "v", count: 16_000))])), count: 40),
        [WireFrame(type: 1, stream: 1, payload: [0xFF, 0x80, 0x7F])],
        [.head(200, on: 1, ends: true)]
          + [WireFrame](repeating: .data([UInt8](repeating: 0, count: 16_384), on: 1), count: 5),
      ]
    var lines: [String] = []
    var configuration = HTTP2Configuration()
    (configuration.streams, configuration.connectionWindow, configuration.unreadBytes) = (1, 0x10000, 0x10000)
    let stubborn = try SessionLab.ready(configuration)
    stubborn.reads = false
    _ = try stubborn.open()
    stubborn.receive([.head(200, on: 1)])
    for _ in 0..<17 { stubborn.receive([.data([UInt8](repeating: 0, count: 16_384), on: 1)]) }
    if let violation = stubborn.violation { lines.append(line(violation)) }
    for frames in HTTP2BrokenAnswerTests.connections.map(\.1) + floods {
      let lab = try SessionLab.ready()
      _ = try lab.open()
      for frame in frames { lab.receive([frame]) }
      if let violation = lab.violation { lines.append(line(violation)) }
    }
    return unique(lines)
  }

  /// What is not sent.
  private static func requests() throws -> [String] {
    var lines: [String] = []
    func note(_ body: () throws -> Void) throws {
      do { try body() } catch let violation as RequestViolation {
        lines.append("RequestViolation | \(violation.message)")
      }
    }
    for (method, authority, path) in [("", "a", "/"), ("GET", "", "/"), ("GET", "a", "")] {
      try note { _ = try HTTP2Fields(method: method, scheme: "https", authority: authority, path: path) }
    }
    for (name, value) in [("", "x"), ("x", " a"), ("te", "gzip"), ("host", "a"), ("upgrade", "h2c")] {
      var head = try SessionLab.request()
      try note { try head.add(name, value) }
    }
    lines.append("HTTP2ErrorCode | \(HTTP2ErrorCode(rawValue: 99))")
    return lines
  }

  private static func unique(_ lines: [String]) -> [String] {
    var seen: Set<String> = []
    return lines.filter { seen.insert($0).inserted }
  }
}
