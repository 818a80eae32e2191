// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroCurl

/// A server sends an unsolicited answer. The client must not take it for the answer to the next request, wherever the
/// bytes are buffered.
@Suite("Faults: unsolicited responses", .timeLimit(.minutes(15)))
struct UnsolicitedAnswerTests {
  private static let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

  struct Row: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var head: String
    /// The body, sent in one piece with the unsolicited answer, and over TLS in one record.
    var body: String
    var outcome: Outcome
  }

  static let rows = [
    Row(
      testDescription: "behind a length", head: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", body: "fine",
      outcome: .answered(200, "fine")),
    Row(
      testDescription: "behind the last chunk", head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
      body: "4\r\nfine\r\n0\r\n\r\n", outcome: .answered(200, "fine")),
    Row(
      testDescription: "behind an error", head: "HTTP/1.1 404 N\r\nContent-Length: 4\r\n\r\n", body: "gone",
      outcome: .answered(404, "gone")),
    Row(
      testDescription: "behind coded data that are refused",
      head: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n", body: "plain",
      outcome: .failed("response/bad_content_encoding")),
    Row(
      testDescription: "behind a redirect", head: "HTTP/1.1 302 F\r\nLocation: /x\r\nContent-Length: 4\r\n\r\n",
      body: "over", outcome: .answered(302, "over")),
  ]

  @Test("An unsolicited response is not returned to the next request", .overEachLink, arguments: rows, [false, true])
  func next(_ row: Row, overTLS: Bool) async throws {
    let authority = try CertificateAuthority()
    let tls = try overTLS ? LoopbackTLS(authority.issue(hosts: ["localhost"])) : nil
    let server = try LoopbackServer(tls: tls) { connection in
      var isFirst = connection.number == 1
      while let head = try connection.readHead() {
        guard isFirst, head.path == "/first" else {
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext")
          continue
        }
        isFirst = false
        try connection.write(row.head)
        try connection.write(row.body + Self.evil)
      }
    }
    let engine = try LinkKind.current.engine()
    #expect(await engine.outcome(server, "/first") { $0.trust(authority) } == row.outcome)
    for _ in 0..<3 {
      #expect(await engine.outcome(server, "/next") { $0.trust(authority) } == .answered(200, "next"))
    }
  }

  @Test("A request that waits for the connection gets no unsolicited response, even if the loop's turn ends before it")
  func waiting() async throws {
    let authority = try CertificateAuthority()
    let answers = try LoopbackGate(), answered = try LoopbackGate(), asked = try LoopbackGate()
    // One TLS record, and the number of bytes of it and of the next record that OpenSSL reads at once.
    let record = 16 << 10, share = 16_000
    let head = "HTTP/1.1 200 OK\r\nContent-Length: \(record - 42)\r\n\r\n"
    try #require(head.utf8.count == 42)
    let server = try LoopbackServer(tls: LoopbackTLS(authority.issue(hosts: ["localhost"]))) { connection in
      while let request = try connection.readHead() {
        guard request.path == "/first" else {
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext")
          continue
        }
        asked.open()
        guard connection.wait(for: answers) else { return }
        try connection.write(head + String(repeating: "a", count: record - head.utf8.count))
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + String(repeating: "b", count: 10_000))
        answered.open()
      }
    }
    var configuration = CurlConfiguration()
    configuration.connectionsPerHost = 1
    configuration.tlsBytesPerTurn = share
    let engine = try CurlTransport(configuration)
    async let first = engine.outcome(server, "/first") { $0.trust(authority) }
    #expect(await eventually { asked.isOpen })
    async let second = engine.outcome(server, "/next") { $0.trust(authority) }
    #expect(await eventually { engine.activeTransfers == 2 })
    // The loop is blocked, so all bytes arrive in the socket's buffer.
    await Task(executorPreference: engine.executor) {
      answers.open()
      let end = ContinuousClock.now + .seconds(60)
      while !answered.isOpen, ContinuousClock.now < end { sched_yield() }
    }.value
    #expect(answered.isOpen)
    #expect(await first == .answered(200, String(repeating: "a", count: record - head.utf8.count)))
    #expect(await second == .answered(200, "next"))
  }

  @Test("TLS messages that arrive while others are read are not taken for a response", arguments: [false, true])
  func messages(isTicket: Bool) async throws {
    let authority = try CertificateAuthority()
    let sent = EventRecorder<Int>()
    let server = try LoopbackServer(tls: LoopbackTLS(authority.issue(hosts: ["localhost"]))) { connection in
      while try connection.readHead() != nil {
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
        // OpenSSL writes each of them by itself.
        for _ in 0..<32 { try? connection.sendTLSMessage(isTicket: isTicket) }
        sent.record(connection.number)
      }
    }
    let engine = try CurlTransport()
    for round in 1...20 {
      #expect(await engine.outcome(server) { $0.trust(authority) } == .answered(200, "fine"))
      try await sent.waitForEvents(count: round)
    }
    #expect(server.acceptedConnections == 1)
  }

  @Test("An HTTP/2 status line is malformed over HTTP/1.1", .overEachLink)
  func version() async throws {
    let authority = try CertificateAuthority()
    let tls = try LoopbackTLS(authority.issue(hosts: ["localhost"]))
    let server = try LoopbackServer(tls: tls) { connection in
      guard try connection.readHead() != nil else { return }
      try connection.write("HTTP/2 200 OK\r\n\r\ncut")
      connection.closeWithoutNotify()
    }
    let engine = try LinkKind.current.engine()
    let outcome = await engine.outcome(server) { $0.trust(authority) }
    #expect(outcome == .failed("response/malformed_response"))
  }
}
