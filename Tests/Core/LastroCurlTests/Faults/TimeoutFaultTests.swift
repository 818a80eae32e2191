// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Servers that stop at some stage, against each time limit.
@Suite("Faults: stalls and time limits", .overEachLink, .timeLimit(.minutes(15)))
struct TimeoutFaultTests {
  /// The point at which the server stops.
  enum Stall: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case beforeReading, afterRequest, inStatusLine, inHead, afterInterim, beforeBody, inBody, inChunkSize, inUpload
    var testDescription: String { rawValue }

    /// The bytes that the server sends before it falls silent; `nil` if it does not even read the request.
    var sent: String? {
      switch self {
      case .beforeReading, .inUpload: nil
      case .afterRequest: ""
      case .inStatusLine: "HTTP/1.1 2"
      case .inHead: "HTTP/1.1 200 OK\r\nContent-Len"
      case .afterInterim: "HTTP/1.1 103 Early Hints\r\n\r\n"
      case .beforeBody: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
      case .inBody: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"
      case .inChunkSize: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n4"
      }
    }
  }

  enum Limit: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case attempt, idle, total
    var testDescription: String { rawValue }
    var words: String { "timeout/\(rawValue)_timeout" }

    /// Sets the limit, and the other ones to longer times. By default it leaves enough time to send the request, unless
    /// the machine is very busy.
    func apply(to request: inout TransferRequest, seconds: Int = 3) {
      switch self {
      case .attempt, .total:
        request.deadline = .seconds(seconds)
        request.deadlineCode = self == .attempt ? .attemptTimeout : .totalTimeout
        request.idleTimeout = .seconds(16 * seconds)
      case .idle:
        request.deadline = .seconds(16 * seconds)
        request.idleTimeout = .seconds(seconds)
      }
    }
  }

  @Test("Every limit is enforced at every stage", arguments: Stall.allCases, Limit.allCases)
  func stall(_ stall: Stall, _ limit: Limit) async throws {
    // On a busy machine, a short limit may pass before the request is sent.
    for seconds in [3, 30] where try await stalls(stall, limit, seconds: seconds) { return }
    #expect(try await stalls(stall, limit, seconds: 100))
  }

  /// Asserts that a limit ends a request to a server that stalls, and returns whether the request was sent.
  private func stalls(_ stall: Stall, _ limit: Limit, seconds: Int) async throws -> Bool {
    let server = try LoopbackServer { connection in
      if let sent = stall.sent {
        _ = try connection.readHead()
        try connection.write(sent)
      }
      connection.stall()
    }
    let engine = try LinkKind.current.engine()
    let error = try await engine.failure(server, method: stall == .inUpload ? .post : .get) { request in
      limit.apply(to: &request, seconds: seconds)
      if stall == .inUpload { request.body = .raw([UInt8](repeating: 1, count: 32 << 20)) }
    }
    #expect(error.words == limit.words)
    // A server that does not read cannot see that the connection was closed.
    #expect(await eventually { engine.activeTransfers == 0 && (stall == .inUpload || server.openConnections == 0) })
    guard error.requestSent else { return false }
    #expect(await eventually { server.acceptedConnections == 1 })
    return true
  }

  @Test("A stalled TLS handshake ends at the earliest limit", arguments: ["connect", "attempt", "idle", "total"])
  func stalledHandshake(limit: String) async throws {
    let authority = try CertificateAuthority()
    let server = try LoopbackServer(
      tls: LoopbackTLS(authority.issue(hosts: ["localhost"]), handshakeFault: .stallInHandshake)
    ) { _ in }
    let engine = try LinkKind.current.engine()
    let error = try await engine.failure(server) { request in
      request.trust(authority)
      if limit == "connect" {
        request.connectTimeout = .milliseconds(150)
        request.deadline = .seconds(50)
        request.idleTimeout = .seconds(50)
      } else {
        request.connectTimeout = .seconds(50)
        Limit(rawValue: limit)?.apply(to: &request)
      }
    }
    #expect(error.words == "timeout/\(limit)_timeout")
    #expect(!error.requestSent)
    #expect(await eventually { engine.activeTransfers == 0 && server.openConnections == 0 })
  }

  @Test("A connection that is never accepted ends at the earliest limit", arguments: ["connect", "attempt", "total"])
  func stalledConnect(limit: String) async throws {
    let listener = try FullListener()
    let engine = try LinkKind.current.engine()
    let outcome = await engine.outcome(listener) { request in
      request.connectTimeout = limit == "connect" ? .milliseconds(150) : .seconds(50)
      if limit != "connect" { Limit(rawValue: limit)?.apply(to: &request) }
    }
    #expect(outcome == .failed("timeout/\(limit)_timeout"))
    #expect(await eventually { engine.activeTransfers == 0 && !listener.isBeingAsked })
  }

  @Test("A body that arrives byte by byte is stopped by the deadline and not by the idle limit")
  func drip() async throws {
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
      while connection.pause(.milliseconds(10)) { try connection.write("x") }
    }
    let error = try await LinkKind.current.engine().failure(server) {
      $0.deadline = .seconds(6)
      $0.idleTimeout = .seconds(200)
    }
    #expect(error.words == "timeout/total_timeout")
    #expect(await eventually { server.requests.count == 1 })
  }

  @Test("The deadline passes while the request waits in the queue", arguments: [Limit.attempt, .total])
  func queued(_ limit: Limit) async throws {
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      connection.stall()
    }
    let engine = try LinkKind.current.engine { $0.connectionsPerHost = 1 }
    let holder = Task { await engine.outcome(server, "/holder") }
    try await server.waitForRequests(count: 1)
    let error = try await engine.failure(server, "/queued", adapting: { limit.apply(to: &$0) })
    #expect(error.words == limit.words)
    #expect(!error.requestSent)
    holder.cancel()
    #expect(await holder.value == .failed("cancelled/cancelled"))
    #expect(server.requests.map(\.target) == ["/holder"])
    #expect(await eventually { engine.activeTransfers == 0 })
  }

  @Test("The idle limit does not run in the queue")
  func queuedIdle() async throws {
    let gate = try LoopbackGate()
    let server = try LoopbackServer { connection in
      while let head = try connection.readHead() {
        if head.path == "/holder" { connection.wait(for: gate) }
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
      }
    }
    let engine = try LinkKind.current.engine { $0.connectionsPerHost = 1 }
    async let holder = engine.outcome(server, "/holder")
    try await server.waitForRequests(count: 1)
    async let queued = engine.outcome(server, "/queued") { $0.idleTimeout = .seconds(2) }
    // The deadline of another request shows that the idle limit has passed.
    let late = try await engine.failure(server, "/late") { $0.deadline = .seconds(4) }
    #expect(late.words == "timeout/total_timeout")
    gate.open()
    #expect(await [holder, queued] == [.answered(200, "fine"), .answered(200, "fine")])
  }

  @Test("A full queue refuses at once")
  func fullQueue() async throws {
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      connection.stall()
    }
    let engine = try LinkKind.current.engine {
      $0.connectionsPerHost = 1
      $0.maximumQueuedRequests = 0
    }
    let holder = Task { await engine.outcome(server) }
    try await server.waitForRequests(count: 1)
    let error = try await engine.failure(server)
    #expect(error.words == "limit/queue_full")
    #expect(!error.requestSent)
    holder.cancel()
    #expect(await holder.value == .failed("cancelled/cancelled"))
  }

  private static let flood = [UInt8](repeating: 7, count: 64 << 10)

  /// Returns a server that reads a request and sends nothing.
  private static func stalling() throws -> LoopbackServer {
    try LoopbackServer { connection in
      _ = try connection.readHead()
      connection.stall()
    }
  }

  private static func flooding() throws -> LoopbackServer {
    try LoopbackServer { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(256 * flood.count)\r\n\r\n")
      for _ in 0..<256 { try connection.write(flood) }
    }
  }

  @Test("The deadline passes while a slow reader holds a stream up")
  func pausedDeadline() async throws {
    let server = try Self.flooding()
    let engine = try LinkKind.current.engine()
    let response = try await engine.execute(
      .to(server) {
        $0.delivery = .streamed(maximumBytes: nil)
        $0.deadline = .seconds(6)
      })
    // The caller reads nothing until the transfer has ended.
    #expect(await eventually { engine.activeTransfers == 0 })
    var failure: TransportError?
    do throws(TransportError) {
      for try await _ in response.body {}
    } catch { failure = error }
    #expect(failure?.words == "timeout/total_timeout")
    #expect(await eventually { server.openConnections == 0 })
  }

  @Test("The idle limit does not run while a slow reader holds a stream up")
  func pausedIdle() async throws {
    let server = try Self.flooding()
    let stalled = try Self.stalling()
    let engine = try LinkKind.current.engine()
    let response = try await engine.execute(
      .to(server) {
        $0.delivery = .streamed(maximumBytes: nil)
        $0.idleTimeout = .seconds(5)
      })
    // The deadline of another request shows that the idle limit has passed.
    let late = try await engine.failure(stalled) { $0.deadline = .seconds(8) }
    #expect(late.words == "timeout/total_timeout")
    var count = 0
    for try await chunk in response.body { count += chunk.count }
    #expect(count == 256 * Self.flood.count)
  }

  @Test("The idle limit runs again once a slow reader continues, however long it paused")
  func idleAfterPause() async throws {
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(256 * Self.flood.count)\r\n\r\n")
      for _ in 0..<128 { try connection.write(Self.flood) }
      connection.stall()
    }
    let stalled = try Self.stalling()
    let engine = try LinkKind.current.engine()
    let response = try await engine.execute(
      .to(server) {
        $0.delivery = .streamed(maximumBytes: nil)
        $0.idleTimeout = .seconds(5)
        $0.deadline = .seconds(1_000)
      })
    // The deadline of another request shows that the idle limit has passed.
    _ = try await engine.failure(stalled) { $0.deadline = .seconds(8) }
    var failure: TransportError?
    do throws(TransportError) {
      for try await _ in response.body {}
    } catch { failure = error }
    #expect(failure?.words == "timeout/idle_timeout")
  }
}

extension TransferRequest {
  /// Trusts the root of a test authority.
  mutating func trust(_ authority: CertificateAuthority) {
    var options = ConnectionOptions()
    options.tls.roots = .pem(Array(authority.rootPEM.utf8))
    connection = options
  }
}
