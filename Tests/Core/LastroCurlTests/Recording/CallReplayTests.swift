// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroEveryday
import LastroHTTP
import LastroResilience
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("Replaying a recorded call", .timeLimit(.minutes(15)))
struct CallReplayTests {
  /// Returns a server that responds with the statuses in turn, and then with 200.
  private func server(
    _ statuses: [Int], headers: KeyValuePairs<String, String> = [:]
  ) throws -> LoopbackServer {
    let requests = EventRecorder<String>()
    let fields = headers.map { ($0.key, $0.value) }
    return try LoopbackServer.http { request in
      let index = requests.record(request.path)
      guard index < statuses.count else { return .text("fine") }
      var response = LoopbackResponse(status: statuses[index])
      for (name, value) in fields { response = response.adding(name, value) }
      return response
    }
  }

  @Test("A call that fails and is retried has the same ledger when it is replayed")
  func retried() async throws {
    let calls = try RecordedCalls()
    let server = try server([503, 500])
    _ = try await calls.stack([.retry]).send(.get, server.baseURL + "/a?page=2")
    try await calls.expectEqualReplay()
    #expect(try calls.text().contains("\"retry_scheduled\""))
  }

  @Test("A call that fails after its last attempt has the same ledger and the same reason for its end")
  func failed() async throws {
    let calls = try RecordedCalls(keeps: .failures)
    let server = try server([503, 503, 503, 503, 503, 503, 503, 503, 503, 503])
    let error = try await failure { try await calls.stack([.retry]).send(.get, server.baseURL) }
    try await calls.expectEqualReplay()
    #expect(try await calls.replay().ledger == "\(error.ledger)")
    #expect(error.ledger.retryEnd != nil)
  }

  @Test("The server's Retry-After and its spread are replayed")
  func retryAfter() async throws {
    let calls = try RecordedCalls()
    let server = try server([503], headers: ["Retry-After": "1"])
    _ = try await calls.stack([.retry]).send(.get, server.baseURL)
    try await calls.expectEqualReplay()
  }

  @Test("Redirects, generated keys and bodies are replayed")
  func redirected() async throws {
    let calls = try RecordedCalls()
    let server = try LoopbackServer.http { request in
      request.path == "/a" ? LoopbackResponse(status: 307, headers: ["Location": "/b"]) : .text("fine")
    }
    var options = RequestOptions(operation: "pay")
    options.idempotency = .generatedKey
    _ = try await calls.stack().send(.post, server.baseURL + "/a", body: .raw("money"), options: options)
    try await calls.expectEqualReplay()
  }

  @Test("A call over a connection that another call opened is replayed")
  func reused() async throws {
    let calls = try RecordedCalls()
    let server = try server([])
    let stack = try calls.stack()
    for _ in 0..<3 {
      _ = try await stack.send(.get, server.baseURL)
      try await calls.expectEqualReplay()
    }
    #expect(server.acceptedConnections == 1)
  }

  @Test("A refused connection, and one that the server closes without a response, are replayed")
  func unreachable() async throws {
    let calls = try RecordedCalls(keeps: .failures)
    let port = try LoopbackServer.http { _ in .text("") }.port
    _ = try await failure { try await calls.stack([.retry]).send(.get, "http://127.0.0.1:\(port)/") }
    try await calls.expectEqualReplay(onEngine: false)
    let mute = try LoopbackServer { connection in _ = try connection.readHead() }
    _ = try await failure { try await calls.stack().send(.post, mute.baseURL, body: .raw("a")) }
    try await calls.expectEqualReplay()
  }

  @Test(
    "A total timeout is replayed, in a stalled body too",
    arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"])
  func stalled(_ bytes: String) async throws {
    let calls = try RecordedCalls(keeps: .failures)
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      try connection.write(bytes)
      connection.stall()
    }
    let stack = try calls.stack(adapting: { $0.timeouts.total = .milliseconds(1_500) })
    let error = try await failure { try await stack.send(.get, server.baseURL) }
    #expect(error.code == .totalTimeout)
    try await calls.expectEqualReplay(onEngine: error.ledger.attempts.last?.requestSent ?? false)
  }

  @Test("A stream is recorded until its body ends")
  func streamed() async throws {
    let calls = try RecordedCalls()
    let server = try LoopbackServer.http { _ in .text(String(repeating: "a", count: 100_000)) }
    let stream = try await calls.stack().stream(.raw(ResourceRequest(url: server.baseURL)))
    for try await _ in stream.value {}
    #expect(await eventually { calls.recorder.files.count == 1 })
    try await calls.expectEqualReplay()
  }

  @Test("A compressed body is replayed without its content")
  func compressed() async throws {
    let calls = try RecordedCalls()
    let fault = Fault(
      "gzip",
      Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(Self.gzip.count)\r\n\r\n".utf8) + Self.gzip,
      .answered(200, "hello"))
    let server = try faultServer(fault)
    #expect(try await calls.stack().send(.get, server.baseURL).text == "hello")
    try await calls.expectEqualReplay()
  }

  /// The text "hello" in a stored block.
  static let gzip: [UInt8] =
    [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1, 5, 0, 0xFA, 0xFF] + Array("hello".utf8)
    + [0x86, 0xA6, 0x10, 0x36, 5, 0, 0, 0]

  // MARK: What would have happened

  @Test("With retry=none the first failure ends the call, and with a shorter total the call ends earlier")
  func changed() async throws {
    let calls = try RecordedCalls()
    let server = try server([503, 503], headers: ["Retry-After": "1"])
    _ = try await calls.stack([.retry]).send(.get, server.baseURL)
    var variation = ReplayVariation()
    variation.retriesNothing = true
    let alone = try await calls.replay(variation)
    #expect(alone.ledger.contains("1 attempt in"), "\(alone.ledger)")
    variation = ReplayVariation()
    variation.total = .milliseconds(500)
    let short = try await calls.replay(variation)
    #expect(short.ledger.contains("of 500 ms") && short.ledger.contains("does not end before the total deadline"))
    variation = ReplayVariation()
    variation.maximumAttempts = 2
    let two = try await calls.replay(variation)
    #expect(two.ledger.contains("2 attempts in") && two.ledger.contains("limit of 2 attempts"), "\(two.ledger)")
  }

  @Test("A shorter total ends a transfer that took longer")
  func shortened() async throws {
    let calls = try RecordedCalls()
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      _ = connection.pause(.milliseconds(700))
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }
    _ = try await calls.stack().send(.get, server.baseURL)
    var variation = ReplayVariation()
    variation.total = .milliseconds(200)
    let short = try await calls.replay(variation)
    #expect(short.ledger.contains("timeout/total_timeout"), "\(short.ledger)")
  }

  @Test("Without the breaker, the request that it refused would be sent")
  func withoutBreaker() async throws {
    let calls = try RecordedCalls(keeps: .failures)
    let server = try server(Array(repeating: 500, count: 40))
    let stack = try calls.stack(adapting: { $0.resilience = .standard() })
    var last: RawFailure?
    for _ in 0..<40 where last?.code != .circuitOpen {
      last = try await failure { try await stack.send(.get, server.baseURL) }
    }
    #expect(last?.code == .circuitOpen)
    try await calls.expectEqualReplay(onEngine: false)
    var variation = ReplayVariation()
    variation.without = [.circuitOpen]
    let open = try await calls.replay(variation)
    #expect(open.ledger.contains("the request would be sent here"), "\(open.ledger)")
  }

  @Test("Without the cache, the request that it answered would be sent")
  func withoutCache() async throws {
    let calls = try RecordedCalls()
    let server = try LoopbackServer.http { _ in .text("fine").adding("Cache-Control", "max-age=600") }
    let stack = try calls.stack(adapting: { $0.cache = HTTPCache() })
    _ = try await stack.send(.get, server.baseURL)
    _ = try await stack.send(.get, server.baseURL)
    #expect(server.requests.count == 1)
    try await calls.expectEqualReplay(onEngine: false)
    var variation = ReplayVariation()
    variation.withoutCache = true
    let sent = try await calls.replay(variation)
    #expect(sent.ledger.contains("the request would be sent here"), "\(sent.ledger)")
  }

  @Test("The opinion of each interceptor on a failure is reported")
  func opinions() async throws {
    let calls = try RecordedCalls()
    let server = try server([503])
    _ = try await calls.stack([.retry]).send(.get, server.baseURL)
    let lines = EventRecorder<String>()
    _ = try await RecordedCalls.replay(calls.text()) { lines.record($0) }
    #expect(
      lines.events.contains { $0.hasPrefix("interceptor: ") && $0.contains(" wants a retry after ") }, "\(lines.events)"
    )
    try await calls.expectEqualReplay()
  }

  @Test("Each event is reported, from the start of the call to its end")
  func steps() async throws {
    let calls = try RecordedCalls()
    let server = try server([])
    _ = try await calls.stack().send(.get, server.baseURL)
    let lines = EventRecorder<String>()
    _ = try await RecordedCalls.replay(calls.text()) { lines.record($0) }
    #expect(lines.events.first == "the call starts" && lines.events.last == "the call ends")
    #expect(lines.events.contains { $0.hasPrefix("received ") })
  }
}
