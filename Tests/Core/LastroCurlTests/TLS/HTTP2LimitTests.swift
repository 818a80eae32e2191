// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroCurl
@testable import LastroHTTP

extension EnginePort {
  /// The bytes that were written on all connections and that their links have not reported as delivered.
  fileprivate var unacknowledgedBytes: Int {
    loop.seat.withLock { [reference] _ in
      (reference.core?.connections.all ?? []).reduce(0) { $0 + $1.unacknowledgedBytes }
    }
  }
}

/// HTTP/2 over streams of the engine, with a clock that the test moves.
@Suite("Dialer transport, HTTP/2: limits in time", .timeLimit(.minutes(15)))
struct HTTP2LimitTests {
  private let authority: TestAuthority
  private let clock = ManualClock()

  init() throws { authority = try TestAuthority() }

  private func transport() throws -> DialerTransport {
    var configuration = DialerTransport.Configuration()
    configuration.timeSource = clock.timeSource
    return try DialerTransport(over: authority.dialer(), configuration: configuration)
  }

  private func to(
    _ server: LoopbackServer, _ path: String, _ edit: (inout TransferRequest) -> Void = { _ in }
  ) -> TransferRequest {
    .to(path, .get, scheme: "http", authority: "127.0.0.1:\(server.port)", body: .empty, limit: 1 << 20) {
      var options = authority.options()
      options.httpVersion = .http2
      $0.connection = options
      $0.deadline = .seconds(1_000_000)
      edit(&$0)
    }
  }

  /// Returns a server that answers every request except those for `/silent`.
  private func server() throws -> LoopbackServer {
    try LoopbackServer.http2Script { http2 in
      while let request = try http2.readRequest() {
        if request.path != "/silent" { try http2.respond(to: request, with: .text("fine")) }
      }
    }
  }

  /// Sends a request that the server does not answer, and returns when only the clock can end it.
  private func beginSilent(
    _ transport: DialerTransport, _ server: LoopbackServer, _ edit: @escaping @Sendable (inout TransferRequest) -> Void
  ) async throws -> Task<TransportError, any Error> {
    let request = to(server, "/silent", edit)
    let task = Task { try await transportError { try await transport.execute(request) } }
    try await server.waitForRequests(count: 1)
    // The write is over once that of another request is. The engine may learn of that after the answer.
    #expect(try await transport.execute(to(server, "/other")).body.bytes == Data("fine".utf8))
    let port = try transport.port()
    #expect(await eventually { port.unacknowledgedBytes == 0 })
    return task
  }

  @Test("The idle limit of a request ends it exactly once after its last byte was handed out")
  func idleOnce() async throws {
    let server = try server()
    let transport = try transport()
    let task = try await beginSilent(transport, server) {
      $0.idleTimeout = .seconds(5)
      $0.deadline = .seconds(8)
    }
    let ended = EventRecorder<TransportError>()
    let watcher = Task { _ = ended.record(try await task.value) }
    clock.advance(by: .seconds(5))
    if await !eventually({ ended.count == 1 }) { clock.advance(by: .seconds(3)) }
    try await watcher.value
    #expect(ended.events.first?.code == .idleTimeout)
    await transport.shutDown(cancelling: true)
  }
}
