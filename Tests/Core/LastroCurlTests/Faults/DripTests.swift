// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import Testing

/// Answers that arrive byte by byte, with pauses shorter than the idle limit.
@Suite("Faults: slow heads", .overEachLink, .timeLimit(.minutes(15)))
struct DripTests {
  private static let padding = String(repeating: "p", count: 120)
  private static let pause = Duration.milliseconds(50)
  /// The idle limit: shorter than a line takes to arrive, longer than a busy machine pauses.
  private static let idle = Duration.seconds(5)

  static let answers = [
    "HTTP/1.1 200 OK\r\nX-Long: \(padding)\r\nContent-Length: 4\r\n\r\nfine",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=\(padding)\r\nfine\r\n0\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nLink: \(padding)\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine",
  ]

  @Test("A line that arrives byte by byte does not exceed the idle limit", arguments: answers, [false, true])
  func line(_ answer: String, overTLS: Bool) async throws {
    let authority = try CertificateAuthority()
    let tls = try overTLS ? LoopbackTLS(authority.issue(hosts: ["localhost"])) : nil
    let server = try LoopbackServer(tls: tls) { connection in
      while try connection.readHead() != nil { try connection.drip(Array(answer.utf8), every: Self.pause) }
    }
    let engine = try LinkKind.current.engine()
    let outcome = await engine.outcome(server) {
      $0.trust(authority)
      $0.idleTimeout = Self.idle
      $0.deadline = .seconds(120)
    }
    #expect(outcome == .answered(200, "fine"))
  }

  /// Returns the frames of a head: HEADERS alone, or followed by CONTINUATION frames of one byte each.
  static func head(on stream: UInt32, continuations: Int) -> [LoopbackHTTP2Frame] {
    var first = LoopbackHTTP2Frame.head(200, ["content-length": "4", "x-long": padding], stream: stream)
    guard continuations > 0 else { return [first] }
    let rest = first.payload.suffix(continuations)
    first.payload.removeLast(continuations)
    first.flags = 0
    first.length = first.payload.count
    return [first]
      + rest.enumerated().map { index, byte in
        let isLast = index == continuations - 1
        return LoopbackHTTP2Frame(
          .continuation, flags: isLast ? LoopbackHTTP2Frame.endHeaders : 0, stream: stream, payload: [byte])
      }
  }

  @Test("An HTTP/2 head that arrives byte by byte is not idle, in one frame or in many", arguments: [0, 12])
  func head(continuations: Int) async throws {
    let lab = try HTTP2Servers()
    let server = try LoopbackServer.http2Script(tls: lab.tls()) { http2 in
      while let stream = try http2.readRequest()?.stream {
        let head = Self.head(on: stream, continuations: continuations)
        try http2.connection.drip(head.flatMap(\.bytes), every: Self.pause)
        try http2.write(.data("fine".utf8, stream: stream, ends: true))
      }
    }
    let outcome = await lab.outcome(server) { $0.idleTimeout = Self.idle }
    #expect(outcome == .answered(200, "fine"))
  }

  @Test("Silence within an HTTP/2 head exceeds the idle limit")
  func silence() async throws {
    let lab = try HTTP2Servers()
    let server = try LoopbackServer.http2Script(tls: lab.tls()) { http2 in
      guard let stream = try http2.readRequest()?.stream else { return }
      try http2.connection.write(Self.head(on: stream, continuations: 0).flatMap(\.bytes).dropLast(8))
      http2.connection.stall()
    }
    let outcome = await lab.outcome(server) { $0.idleTimeout = .seconds(1) }
    #expect(outcome == .failed("timeout/idle_timeout"))
  }

  @Test("Silence within a line exceeds the idle limit", arguments: [false, true])
  func silence(overTLS: Bool) async throws {
    let authority = try CertificateAuthority()
    let tls = try overTLS ? LoopbackTLS(authority.issue(hosts: ["localhost"])) : nil
    let server = try LoopbackServer(tls: tls) { connection in
      guard try connection.readHead() != nil else { return }
      try connection.write("HTTP/1.1 200 OK\r\nX-Lo")
      connection.stall()
    }
    let engine = try LinkKind.current.engine()
    let outcome = await engine.outcome(server) {
      $0.trust(authority)
      $0.idleTimeout = .seconds(1)
      $0.deadline = .seconds(120)
    }
    #expect(outcome == .failed("timeout/idle_timeout"))
  }
}
