// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Uploads that libcurl alone would send wrongly, or twice.
@Suite("Faults: uploads", .timeLimit(.minutes(5)))
struct UploadFaultTests {
  private static func chunks(_ chunks: [Data]) -> AsyncStream<Data> {
    AsyncStream { continuation in
      for chunk in chunks { continuation.yield(chunk) }
      continuation.finish()
    }
  }

  @Test("a source longer than announced is refused, and not a byte of the excess is sent")
  func excess() async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let engine = try CurlTransport()
    let error = try await engine.failure(server, method: .post) {
      $0.body = .stream(Self.chunks([Data("0123456789GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n".utf8)]), length: 10)
    }
    #expect(error.word == "request/invalid_body")
    #expect(!server.requests.contains { $0.target.contains("smuggled") })
  }

  @Test("417 is the answer: the request is not sent again")
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
    #expect(server.requests.count == 1)
  }

  @Test("an answer that comes while the upload waits for its source ends the transfer")
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
