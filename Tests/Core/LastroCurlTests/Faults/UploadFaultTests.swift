// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Uploads that libcurl alone would send wrongly, or twice.
@Suite("Faults: uploads", .overEachLink, .timeLimit(.minutes(15)))
struct UploadFaultTests {
  private static func chunks(_ chunks: [Data]) -> AsyncStream<Data> {
    AsyncStream { continuation in
      for chunk in chunks { continuation.yield(chunk) }
      continuation.finish()
    }
  }

  @Test("A source longer than announced is refused, and no excess byte is sent")
  func excess() async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let engine = try LinkKind.current.engine()
    let error = try await engine.failure(server, method: .post) {
      $0.body = .stream(Self.chunks([Data("0123456789GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n".utf8)]), length: 10)
    }
    #expect(error.words == "request/invalid_body")
    #expect(!server.requests.contains { $0.target.contains("smuggled") })
  }

  /// Asserts that a trial succeeds. The client waits one second for the response to Expect, and a busy machine may use
  /// up that second, so a trial that failed after a second or more is repeated.
  private func expectWithinASecond(_ trial: () async throws -> Bool) async throws {
    for _ in 0..<20 {
      let start = ContinuousClock.now
      if try await trial() { return }
      guard ContinuousClock.now - start >= .seconds(1) else { break }
    }
    Issue.record("the request was not sent again without Expect")
  }

  @Test("417 is returned if the request without Expect gets it too")
  func expectationFailed() async throws {
    try await expectWithinASecond { try await isRepeatedWithoutExpect() }
  }

  /// Returns whether a request to a server that answers each with 417 was sent with and then without Expect.
  private func isRepeatedWithoutExpect() async throws -> Bool {
    let server = try LoopbackServer { connection in
      guard try connection.readHead() != nil else { return }
      try connection.write("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
      _ = connection.readToEnd()
    }
    let engine = try LinkKind.current.engine()
    let outcome = await engine.outcome(server, method: .put) {
      $0.body = .raw([UInt8](repeating: 1, count: 2 << 20))
      $0.allowsResend = true
    }
    #expect(outcome == .answered(417, ""))
    return server.requests.map { $0.head["Expect"] != nil } == [true, false]
  }

  @Test("If a server rejects Expect, the request, also a POST, is sent without it, and later ones omit it")
  func expectationRefused() async throws {
    try await expectWithinASecond { try await learnsToOmitExpect() }
  }

  /// Returns whether two requests to a server that rejects Expect were answered, of which only the first was sent with
  /// it before.
  private func learnsToOmitExpect() async throws -> Bool {
    let server = try LoopbackServer { connection in
      while let head = try connection.readHead() {
        if head["Expect"] != nil {
          try connection.write("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno")
          return
        }
        let text = "\(try connection.readBody(for: head).count)"
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
      }
    }
    let engine = try LinkKind.current.engine()
    for _ in 0..<2 {
      let outcome = await engine.outcome(server, method: .post) {
        $0.body = .raw([UInt8](repeating: 1, count: 2 << 20))
      }
      guard outcome == .answered(200, "\(2 << 20)") else { return false }
    }
    return server.requests.map { $0.head["Expect"] != nil } == [true, false, false]
  }

  @Test("A response that arrives while the upload waits for its source ends the transfer")
  func earlyAnswer() async throws {
    let server = try LoopbackServer { connection in
      guard try connection.readHead() != nil else { return }
      try connection.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
      _ = connection.readToEnd()
    }
    let (source, continuation) = AsyncStream<Data>.makeStream()
    continuation.yield(Data("a beginning".utf8))
    let engine = try LinkKind.current.engine()
    let outcome = await engine.outcome(server, method: .post) { $0.body = .stream(source) }
    #expect(outcome == .answered(413, "big"))
    #expect(server.requests.count == 1)
    continuation.finish()
  }
}
