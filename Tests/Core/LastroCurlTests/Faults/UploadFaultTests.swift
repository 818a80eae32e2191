// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Uploads that libcurl alone would send wrongly, or twice.
@Suite("Faults: uploads", .timeLimit(.minutes(5)))
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
    let engine = try CurlTransport()
    let error = try await engine.failure(server, method: .post) {
      $0.body = .stream(Self.chunks([Data("0123456789GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n".utf8)]), length: 10)
    }
    #expect(error.words == "request/invalid_body")
    #expect(!server.requests.contains { $0.target.contains("smuggled") })
  }

  @Test("417 is returned if the request without Expect gets it too")
  func expectationFailed() async throws {
    let server = try LoopbackServer { connection in
      guard try connection.readHead() != nil else { return }
      try connection.write("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
      _ = connection.readToEnd()
    }
    let engine = try CurlTransport()
    let outcome = await engine.outcome(server, method: .put) {
      $0.body = .raw([UInt8](repeating: 1, count: 2 << 20))
      $0.allowsResend = true
    }
    #expect(outcome == .answered(417, ""))
    #expect(server.requests.map { $0.head["Expect"] != nil } == [true, false])
  }

  @Test("If a server rejects Expect, the request, also a POST, is sent without it, and later ones omit it")
  func expectationRefused() async throws {
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
    let engine = try CurlTransport()
    for _ in 0..<2 {
      let outcome = await engine.outcome(server, method: .post) {
        $0.body = .raw([UInt8](repeating: 1, count: 2 << 20))
      }
      #expect(outcome == .answered(200, "\(2 << 20)"))
    }
    #expect(server.requests.count == 3)
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
    let engine = try CurlTransport()
    let outcome = await engine.outcome(server, method: .post) { $0.body = .stream(source) }
    #expect(outcome == .answered(413, "big"))
    #expect(server.requests.count == 1)
    continuation.finish()
  }
}
