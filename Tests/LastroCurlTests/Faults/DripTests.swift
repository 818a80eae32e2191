// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import Testing

/// Answers that come byte by byte, and are never silent for as long as the idle limit.
@Suite("Faults: drips", .timeLimit(.minutes(5)))
struct DripTests {
  private static let padding = String(repeating: "p", count: 120)
  private static let pause = Duration.milliseconds(50)
  /// Less than a line takes, more than a machine that is busy pauses.
  private static let idle = Duration.seconds(5)

  static let answers = [
    "HTTP/1.1 200 OK\r\nX-Long: \(padding)\r\nContent-Length: 4\r\n\r\nfine",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=\(padding)\r\nfine\r\n0\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nLink: \(padding)\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine",
  ]

  @Test("a line that drips is not idle", arguments: answers, [false, true])
  func line(_ answer: String, overTLS: Bool) async throws {
    let authority = try CertificateAuthority()
    let tls = try overTLS ? LoopbackTLS(authority.issue(hosts: ["localhost"])) : nil
    let server = try LoopbackServer(tls: tls) { connection in
      while try connection.readHead() != nil { try connection.drip(Array(answer.utf8), every: Self.pause) }
    }
    let engine = try CurlTransport()
    let outcome = await engine.outcome(server) {
      $0.trust(authority)
      $0.idleTimeout = Self.idle
      $0.deadline = .seconds(120)
    }
    #expect(outcome == .answered(200, "fine"))
  }

  @Test("silence within a line is idle", arguments: [false, true])
  func silence(overTLS: Bool) async throws {
    let authority = try CertificateAuthority()
    let tls = try overTLS ? LoopbackTLS(authority.issue(hosts: ["localhost"])) : nil
    let server = try LoopbackServer(tls: tls) { connection in
      guard try connection.readHead() != nil else { return }
      try connection.write("HTTP/1.1 200 OK\r\nX-Lo")
      connection.stall()
    }
    let engine = try CurlTransport()
    let outcome = await engine.outcome(server) {
      $0.trust(authority)
      $0.idleTimeout = .seconds(1)
      $0.deadline = .seconds(120)
    }
    #expect(outcome == .failed("timeout/idle_timeout"))
  }
}
