// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Cancellation at every stage. The caller gets the cancellation error, once, and nothing is left behind.
@Suite("Faults: cancellation", .overEachLink, .timeLimit(.minutes(15)))
struct CancellationFaultTests {
  /// Starts a fetch, cancels it when `isThere` returns, and checks that nothing is left behind.
  private func expectCancelled(
    _ engine: any LinkedEngine, _ server: LoopbackServer, sent: Bool,
    adapting adapt: @escaping @Sendable (inout TransferRequest) -> Void = { _ in },
    when isThere: () async throws -> Void
  ) async throws {
    let task = Task { try await engine.failure(server, method: .post, adapting: adapt) }
    try await isThere()
    task.cancel()
    let error = try await task.value
    #expect(error.words == "cancelled/cancelled")
    #expect(await eventually { engine.activeTransfers == 0 && server.openConnections == 0 })
    #expect(server.requests.count == (sent ? 1 : 0))
  }

  @Test("A request that is cancelled before it begins is not sent")
  func before() async throws {
    let server = try LoopbackServer { $0.stall() }
    let engine = try LinkKind.current.engine()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await engine.outcome(server)
    }
    #expect(await task.value == .failed("cancelled/cancelled"))
    #expect(server.acceptedConnections == 0 && engine.activeTransfers == 0)
  }

  @Test("A request is cancelled in the queue")
  func queued() async throws {
    let gate = try LoopbackGate()
    let server = try LoopbackServer { connection in
      while try connection.readHead() != nil {
        connection.wait(for: gate)
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
      }
    }
    let engine = try LinkKind.current.engine { $0.connectionsPerHost = 1 }
    async let holder = engine.outcome(server, "/holder")
    try await server.waitForRequests(count: 1)
    let tasks = (0..<20).map { _ in Task { await engine.outcome(server, "/queued") } }
    #expect(await eventually { engine.activeTransfers == 21 })
    for task in tasks { task.cancel() }
    for task in tasks { #expect(await task.value == .failed("cancelled/cancelled")) }
    #expect(await eventually { engine.activeTransfers == 1 })
    gate.open()
    #expect(await holder == .answered(200, "fine"))
    #expect(server.requests.map(\.target) == ["/holder"])
  }

  @Test("A request is cancelled during the TLS handshake")
  func handshake() async throws {
    let authority = try CertificateAuthority()
    let server = try LoopbackServer(
      tls: LoopbackTLS(authority.issue(hosts: ["localhost"]), handshakeFault: .stallInHandshake)
    ) { _ in }
    try await expectCancelled(LinkKind.current.engine(), server, sent: false, adapting: { $0.trust(authority) }) {
      try await server.waitForConnections(count: 1)
    }
  }

  @Test("A request is cancelled while it connects")
  func connecting() async throws {
    let listener = try FullListener()
    let engine = try LinkKind.current.engine()
    let task = Task { await engine.outcome(listener) }
    #expect(await eventually { listener.isBeingAsked })
    task.cancel()
    #expect(await task.value == .failed("cancelled/cancelled"))
    #expect(await eventually { engine.activeTransfers == 0 && !listener.isBeingAsked })
  }

  @Test("A request is cancelled while it waits for the response")
  func waiting() async throws {
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      connection.stall()
    }
    try await expectCancelled(LinkKind.current.engine(), server, sent: true) {
      try await server.waitForRequests(count: 1)
    }
  }

  @Test("A request is cancelled within a collected body")
  func collecting() async throws {
    let written = EventRecorder<String>()
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
      written.record("written")
      connection.stall()
    }
    try await expectCancelled(LinkKind.current.engine(), server, sent: true) {
      try await written.waitForEvents(count: 1)
    }
  }

  @Test("A request is cancelled within a streamed body while its reader waits")
  func streaming() async throws {
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
      connection.stall()
    }
    let reached = EventRecorder<String>()
    let engine = try LinkKind.current.engine()
    let task = Task { () -> String? in
      do throws(TransportError) {
        let response = try await engine.execute(.to(server) { $0.delivery = .streamed(maximumBytes: nil) })
        for try await _ in response.body { reached.record("reached") }
        return nil
      } catch {
        return error.words
      }
    }
    try await reached.waitForEvents(count: 1)
    task.cancel()
    #expect(await task.value == "cancelled/cancelled")
    #expect(await eventually { engine.activeTransfers == 0 && server.openConnections == 0 })
  }

  @Test("A streamed body that its reader gives up is cancelled")
  func givenUp() async throws {
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
      connection.stall()
    }
    let engine = try LinkKind.current.engine()
    let response = try await engine.execute(.to(server) { $0.delivery = .streamed(maximumBytes: nil) })
    response.body.cancel()
    response.body.cancel()
    var failure: TransportError?
    do throws(TransportError) {
      for try await _ in response.body {}
    } catch { failure = error }
    #expect(failure?.words == "cancelled/cancelled")
    #expect(await eventually { engine.activeTransfers == 0 && server.openConnections == 0 })
  }

  @Test("A request is cancelled during an upload, from memory and from a stream", arguments: [true, false])
  func uploading(isStream: Bool) async throws {
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      connection.readSlowly()
    }
    let body =
      isStream
      ? RequestBody.stream(AsyncStream<Data> { Data(count: 64 << 10) })
      : RequestBody.raw([UInt8](repeating: 1, count: 32 << 20))
    try await expectCancelled(LinkKind.current.engine(), server, sent: true, adapting: { $0.body = body }) {
      try await server.waitForRequests(count: 1)
    }
  }

  @Test("A request is cancelled while it waits for the upload's source")
  func waitingForSource() async throws {
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      connection.stall()
    }
    let (chunks, continuation) = AsyncStream<Data>.makeStream()
    let isEnded = EventRecorder<String>()
    continuation.onTermination = { _ in isEnded.record("isEnded") }
    try await expectCancelled(LinkKind.current.engine(), server, sent: true, adapting: { $0.body = .stream(chunks) }) {
      try await server.waitForRequests(count: 1)
    }
    // The task that feeds the upload is cancelled as well.
    try await isEnded.waitForEvents(count: 1)
  }

  @Test("A fetch is cancelled in the pause before a retry")
  func retryWait() async throws {
    let server = try LoopbackServer.http { _ in LoopbackResponse(status: 503) }
    let reached = EventRecorder<String>()
    var configuration = StackConfiguration()
    configuration.interceptors = [
      RetryInterceptor(
        policy: .custom { _, _, _ in
          reached.record("reached")
          return .retryAfter(.seconds(3600))
        })
    ]
    configuration.timeouts = try Timeouts(connect: nil, attempt: nil, idle: nil, total: nil)
    let engine = try LinkKind.current.engine()
    let stack = TransportNetworkStack(transport: engine, configuration: configuration.replayed)
    let resource = RawHTTPResource.raw(try ResourceRequest(url: server.baseURL))
    let task = Task { () -> HTTPFetchError<any Error>? in
      do throws(HTTPFetchError<any Error>) {
        _ = try await stack.fetch(resource)
        return nil
      } catch {
        return error
      }
    }
    try await reached.waitForEvents(count: 1)
    task.cancel()
    let error = await task.value
    #expect(error?.words == "cancelled/cancelled")
    #expect(server.requests.count == 1)
    #expect(engine.activeTransfers == 0)
  }

  @Test("Shutting down cancels running and waiting requests")
  func shutDown() async throws {
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      connection.stall()
    }
    let engine = try LinkKind.current.engine { $0.connectionsPerHost = 1 }
    let tasks = (0..<3).map { _ in Task { await engine.outcome(server) } }
    try await server.waitForRequests(count: 1)
    #expect(await eventually { engine.activeTransfers == 3 })
    await engine.shutDown(cancelling: true)
    for task in tasks { #expect(await task.value == .failed("cancelled/shut_down")) }
    #expect(await engine.outcome(server) == .failed("cancelled/shut_down"))
    #expect(engine.activeTransfers == 0)
    #expect(await eventually { server.openConnections == 0 })
  }
}
