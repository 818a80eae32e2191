// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Sources that announced a length and have more bytes, or do not report their end. libcurl stops reading the source at
/// that length.
@Suite("Faults: the end of an upload", .overEachLink, .timeLimit(.minutes(15)))
struct UploadEndTests {
  private struct Broken: Error {}

  /// Returns a server that answers after ten bytes of the body, and then reads on.
  private static func server(_ answer: String, afterwards: @escaping @Sendable () -> Void = {}) throws -> LoopbackServer
  {
    try LoopbackServer { connection in
      while try connection.readHead() != nil {
        _ = try connection.read(exactly: 10)
        try connection.write(answer)
        afterwards()
      }
    }
  }

  private static let fine = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"

  private let source: AsyncThrowingStream<Data, any Error>
  private let more: AsyncThrowingStream<Data, any Error>.Continuation

  init() { (source, more) = AsyncThrowingStream.makeStream() }

  private func announce(_ request: inout TransferRequest, deadline: Duration = .seconds(200)) {
    more.yield(Data("0123456789".utf8))
    request.body = .stream(source, length: 10)
    request.deadline = deadline
  }

  @Test("Excess bytes from the source before the response fail the request", arguments: [false, true])
  func beforeTheAnswer(overHTTP2: Bool) async throws {
    let arrived = EventRecorder<String>()
    let lab = try HTTP2Servers()
    let server =
      overHTTP2
      ? try LoopbackServer.http2Script(tls: lab.tls()) { http2 in
        guard try http2.readRequest() != nil else { return }
        arrived.record("arrived")
        _ = try http2.readRequest()
      }
      : try LoopbackServer { connection in
        guard try connection.readHead() != nil else { return }
        _ = try connection.read(exactly: 10)
        arrived.record("arrived")
        _ = connection.readToEnd()
      }
    async let error = lab.failure(server, method: .post) { announce(&$0) }
    try await arrived.waitForEvents(count: 1)
    more.yield(Data("GET /smuggled HTTP/1.1\r\n\r\n".utf8))
    let found = try await error
    #expect(found.words == "request/invalid_body" && found.requestSent, "\(found)")
    #expect(found.hint != nil)
    #expect(await eventually { lab.engine.activeTransfers == 0 })
  }

  @Test("A response does not count as success before the source has ended", arguments: [false, true], [false, true])
  func afterTheAnswer(breaks: Bool, overHTTP2: Bool) async throws {
    let lab = try HTTP2Servers()
    let server = overHTTP2 ? try lab.server { _ in .text("fine") } : try Self.server(Self.fine)
    let engine = lab.engine
    let response = try await engine.execute(
      .to(server, method: .post) {
        announce(&$0)
        $0.trust(lab.authority)
        $0.delivery = .streamed(maximumBytes: nil)
      })
    #expect(response.head.status == .ok)
    if breaks { more.finish(throwing: Broken()) } else { more.yield(Data("more".utf8)) }
    let error = await #expect(throws: TransportError.self) { _ = try await response.body.collect(upTo: .max) }
    #expect(error?.words == "request/invalid_body" && error?.requestSent == true, "\(String(describing: error))")
    #expect(error?.head?.status == .ok)
    #expect(await eventually { engine.activeTransfers == 0 })
  }

  @Test("A source that ends long after its last byte is no fault, and the connection serves the next request")
  func slowEnd() async throws {
    let answered = EventRecorder<String>()
    let server = try Self.server(Self.fine) { answered.record("answered") }
    let engine = try LinkKind.current.engine()
    async let outcome = engine.outcome(server, method: .post) { announce(&$0) }
    try await answered.waitForEvents(count: 1)
    #expect(engine.activeTransfers == 1)
    more.finish()
    #expect(await outcome == .answered(200, "fine"))
    let next = await engine.outcome(server, method: .post) { $0.body = .raw("0123456789") }
    #expect(next == .answered(200, "fine"))
    #expect(server.acceptedConnections == 1)
  }

  @Test(
    "A connection that ends after a complete response, but before the source, serves no other request",
    arguments: [false, true])
  func endsFirst(withReset: Bool) async throws {
    let answered = EventRecorder<String>()
    let server = try LoopbackServer { connection in
      guard try connection.readHead() != nil else { return }
      _ = try connection.read(exactly: 10)
      try connection.write(Self.fine)
      answered.record("answered")
      if withReset { connection.resetAfterDelivery() }
    }
    let other = try LoopbackServer.http { _ in .text("fine") }
    let engine = try LinkKind.current.engine()
    async let outcome = engine.outcome(server, method: .post) { announce(&$0) }
    try await answered.waitForEvents(count: 1)
    #expect(await eventually { server.openConnections == 0 })
    // By the time another exchange is over, the loop has seen the end of the connection.
    #expect(await engine.outcome(other) == .answered(200, "fine"))
    more.finish()
    #expect(await outcome == .answered(200, "fine"))
    let next = await engine.outcome(server, method: .post) { $0.body = .raw("0123456789") }
    #expect(next == .answered(200, "fine"))
    #expect(server.acceptedConnections == 2)
  }

  @Test("A source that never ends exceeds the deadline, and the error names it", arguments: [false, true])
  func noEnd(overHTTP2: Bool) async throws {
    let lab = try HTTP2Servers()
    let server = overHTTP2 ? try lab.server { _ in .text("fine") } : try Self.server(Self.fine)
    let engine = lab.engine
    func failure(within limit: Duration) async throws -> TransportError {
      let fresh = UploadEndTests()
      return try await lab.failure(server, method: .post) { fresh.announce(&$0, deadline: limit) }
    }
    var error = try await failure(within: .seconds(3))
    // On a busy machine the answer itself may arrive after the limit.
    for limit in [Duration.seconds(30), .seconds(150)] where error.head == nil {
      error = try await failure(within: limit)
    }
    #expect(error.words == "timeout/total_timeout" && error.requestSent && error.head?.status == .ok, "\(error)")
    #expect(error.message.contains("source"), "\(error.message)")
    #expect(await eventually { engine.activeTransfers == 0 })
  }

  @Test("A response outside 200–299 is returned, whatever the source has still to yield")
  func errorAnswer() async throws {
    let server = try Self.server("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy")
    let engine = try LinkKind.current.engine()
    #expect(await engine.outcome(server, method: .post) { announce(&$0) } == .answered(503, "busy"))
    more.yield(Data("more".utf8))
  }

  @Test("A file that has grown is refused, whatever its original length", arguments: [0, 10, 128 << 10, 256 << 10])
  func grownFile(length: Int) async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "lastro-grown-\(UUID().uuidString)").path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data(repeating: 1, count: length).write(to: URL(filePath: path))
    let body = try RequestBody.file(path: path)
    try Data(repeating: 1, count: length + 1).write(to: URL(filePath: path))
    let server = try LoopbackServer.http { _ in .text("fine") }
    let engine = try LinkKind.current.engine()
    let error = try await engine.failure(server, method: .put) { $0.body = body }
    #expect(error.words == "request/invalid_body", "\(error)")
  }
}
