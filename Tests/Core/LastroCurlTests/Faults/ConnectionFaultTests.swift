// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Connections that break, and the requests that are sent again.
@Suite("Faults: broken connections", .overEachLink, .timeLimit(.minutes(15)))
struct ConnectionFaultTests {
  enum End: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case reset, close
    var testDescription: String { rawValue }

    func perform(_ connection: LoopbackConnection) {
      switch self {
      case .reset: connection.reset()
      case .close: connection.close()
      }
    }
  }

  struct Break: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var sent: String
    var expected: Set<String>

    init(_ name: String, _ sent: String, _ expected: String...) {
      testDescription = name
      self.sent = sent
      self.expected = Set(expected)
    }
  }

  static let breaks = [
    Break("before a byte of the answer", "", "response/connection_lost"),
    Break("within the status line", "HTTP/1.1 2", "response/connection_lost", "response/malformed_response"),
    Break(
      "within the head", "HTTP/1.1 200 OK\r\nContent-Le", "response/connection_lost", "response/malformed_response",
      "response/truncated_body"),
    Break(
      "after an interim answer", "HTTP/1.1 103 Early Hints\r\n\r\n", "response/connection_lost",
      "response/malformed_response"),
    Break("before the body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", "response/truncated_body"),
    Break("within the body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "response/truncated_body"),
    Break(
      "within the chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n4",
      "response/truncated_body"),
  ]

  @Test("A connection that ends at any stage fails the request", arguments: breaks, End.allCases)
  func broken(_ fault: Break, _ end: End) async throws {
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      try connection.write(fault.sent)
      end.perform(connection)
    }
    let engine = try LinkKind.current.engine()
    let error = try await engine.failure(server)
    #expect(fault.expected.contains(error.words), "\(error)")
    #expect(error.requestSent)
    #expect(server.requests.count == 1)
    #expect(await eventually { engine.activeTransfers == 0 })
  }

  @Test("A reset truncates a body that only the end of the connection delimits")
  func resetOfCloseDelimitedBody() async throws {
    let gate = try LoopbackGate()
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\n\r\nhalf")
      connection.wait(for: gate)
      connection.reset()
    }
    let response = try await LinkKind.current.engine().execute(
      .to(server) { $0.delivery = .streamed(maximumBytes: nil) })
    var iterator = response.body.makeAsyncIterator()
    #expect(try await iterator.next() == Data("half".utf8))
    gate.open()
    var failure: TransportError?
    do throws(TransportError) { _ = try await iterator.next() } catch { failure = error }
    #expect(failure?.words == "response/truncated_body")
  }

  @Test("A connection that ends before the request is read fails the request", arguments: End.allCases)
  func endedAtOnce(_ end: End) async throws {
    let server = try LoopbackServer { end.perform($0) }
    let engine = try LinkKind.current.engine()
    let error = try await engine.failure(server)
    // The reset may arrive before the connection is established.
    #expect(error.code == .connectionLost || (error.stage == .connect && !error.requestSent), "\(error)")
    // If libcurl finds a connection closed before the engine gets it, the engine dials again, up to three times. Newer
    // libcurls dial several times each time (CONN_MAX_RETRIES is 5). Nothing was sent on such a connection. One that
    // ends once the engine has it fails the request.
    #expect((1...24).contains(server.acceptedConnections))
  }

  @Test("A refused connection fails before anything is sent")
  func refused() async throws {
    let server = try LoopbackServer { _ in }
    server.stop()
    let error = try await LinkKind.current.engine().failure(server)
    #expect(error.words == "connect/connect_failed")
    #expect(!error.requestSent)
  }

  @Test("A reset during an upload fails the request")
  func resetInUpload() async throws {
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      _ = try connection.read(exactly: 100_000)
      connection.reset()
    }
    let error = try await LinkKind.current.engine().failure(server, method: .post) {
      $0.body = .raw([UInt8](repeating: 1, count: 32 << 20))
    }
    #expect([.send, .response].contains(error.stage) && error.code == .connectionLost, "\(error)")
    #expect(error.requestSent)
    #expect(server.requests.count == 1)
  }

  // MARK: reused connections

  /// Returns a server that answers the first request of its first connection. It reads the second request there, and
  /// then ends the connection.
  private static func dyingServer(_ end: End) throws -> LoopbackServer {
    try LoopbackServer { connection in
      while let request = try connection.readRequest() {
        if connection.number == 1, request.target != "/first" { return end.perform(connection) }
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
      }
    }
  }

  @Test("A GET on a pooled connection that dies is sent once more", arguments: End.allCases)
  func resentGet(_ end: End) async throws {
    let server = try Self.dyingServer(end)
    let engine = try LinkKind.current.engine()
    #expect(await engine.outcome(server, "/first") == .answered(200, "fine"))
    let response = try await engine.execute(.to(server, "/second"))
    #expect(response.body.bytes == Data("fine".utf8))
    #expect(response.facts.resends == 1)
    #expect(server.requests.map(\.target) == ["/first", "/second", "/second"])
    #expect(server.requests.map(\.connection) == [1, 1, 2])
  }

  @Test("A POST on a pooled connection that dies is not sent again", arguments: End.allCases, [0, 10, 100_000])
  func postIsNotResent(_ end: End, bytes: Int) async throws {
    let server = try Self.dyingServer(end)
    let engine = try LinkKind.current.engine()
    #expect(await engine.outcome(server, "/first") == .answered(200, "fine"))
    let error = try await engine.failure(server, "/second", method: .post) {
      if bytes > 0 { $0.body = .raw([UInt8](repeating: 1, count: bytes)) }
    }
    #expect(error.words == "send/connection_lost")
    #expect(error.requestSent)
    #expect(server.requests.map(\.target) == ["/first", "/second"])
    #expect(await engine.outcome(server, "/third") == .answered(200, "fine"))
  }

  @Test("A POST is sent again if the request allows it", arguments: End.allCases)
  func allowedPost(_ end: End) async throws {
    let server = try Self.dyingServer(end)
    let engine = try LinkKind.current.engine()
    #expect(await engine.outcome(server, "/first") == .answered(200, "fine"))
    let response = try await engine.execute(
      .to(server, "/second", method: .post) {
        $0.body = .raw("hello")
        $0.allowsResend = true
      })
    #expect(response.facts.resends == 1)
    #expect(server.requests.map(\.text) == ["", "hello", "hello"])
  }

  @Test("The stack resends a POST with an Idempotency-Key, and does not resend one without", arguments: [true, false])
  func idempotencyKey(hasKey: Bool) async throws {
    let server = try Self.dyingServer(.close)
    let stack = TransportNetworkStack(
      transport: try LinkKind.current.engine(), configuration: StackConfiguration().replayed)
    _ = try await stack.fetch(.raw(ResourceRequest(url: server.baseURL + "/first")))
    var request = try ResourceRequest(method: .post, url: server.baseURL + "/second", body: .raw("hello"))
    if hasKey {
      try request.setHeader("Idempotency-Key", "k1")
      let value = try await stack.fetch(.raw(request))
      #expect(value.response.facts.resends == 1)
      #expect(server.requests.map(\.target) == ["/first", "/second", "/second"])
    } else {
      let sent = request
      let error = try await #require(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(.raw(sent)) }
      #expect(error.words == "send/connection_lost")
      #expect(error.attempts.map(\.requestSent) == [true])
      #expect(server.requests.map(\.target) == ["/first", "/second"])
    }
  }

  @Test("A body that can be read only once is never sent again")
  func oneShotBody() async throws {
    let server = try Self.dyingServer(.close)
    let stack = TransportNetworkStack(
      transport: try LinkKind.current.engine(), configuration: StackConfiguration().replayed)
    _ = try await stack.fetch(.raw(ResourceRequest(url: server.baseURL + "/first")))
    let chunks = AsyncStream<Data> {
      $0.yield(Data("hello".utf8))
      $0.finish()
    }
    let request = try ResourceRequest(method: .put, url: server.baseURL + "/second", body: .stream(chunks))
    let error = try await #require(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(.raw(request)) }
    #expect([.send, .response].contains(error.stage) && error.code == .connectionLost, "\(error)")
    #expect(server.requests.map(\.target) == ["/first", "/second"])
  }

  @Test("An early final response ends the upload of a large stream", arguments: [true, false])
  func earlyAnswer(closes: Bool) async throws {
    let server = try LoopbackServer { connection in
      while let head = try connection.readHead() {
        if head.path == "/ok" {
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
          continue
        }
        _ = try connection.read(exactly: 1000)
        let field = closes ? "Connection: close\r\n" : ""
        try connection.write("HTTP/1.1 413 Content Too Large\r\n\(field)Content-Length: 7\r\n\r\ntoo big")
        if closes { return connection.close() }
        connection.stall()
        return
      }
    }
    let engine = try LinkKind.current.engine()
    let chunks = AsyncStream<Data> { Data(count: 64 << 10) }
    let outcome = await engine.outcome(server, "/upload", method: .post) { $0.body = .stream(chunks) }
    #expect(outcome == .answered(413, "too big"))
    #expect(await engine.outcome(server, "/ok") == .answered(200, "fine"))
    #expect(server.requests.map(\.target) == ["/upload", "/ok"])
    #expect(await eventually { engine.activeTransfers == 0 })
  }
}
