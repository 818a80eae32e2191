// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroEveryday
import LastroResilience
import LastroTesting
import TestSupport
import Testing

@Suite("Transfers that a replay does not perform", .timeLimit(.minutes(15)))
struct ReplayOmissionTests {
  private func expect(_ omission: ReplayOmission, of calls: RecordedCalls, trace: String? = nil) async throws {
    let text = try trace ?? calls.text()
    let outcome = try await RecordedCalls.replay(text)
    #expect(outcome.omissions == [omission] && outcome.engineTransfers == outcome.transfers - 1)
    // The trace of an unfinished transfer has no limits, which the ledger shows.
    if omission != .unfinished { #expect(outcome.ledger == (try CallTrace(reading: text)).ledger) }
    #expect(outcome.isEqual == (omission != .unfinished))
  }

  @Test("The guide lists the reasons")
  func texts() throws {
    let guide = ReplayPage.repository.appending(path: "Docs/Lastro.docc/ReplayingCalls.md")
    let rows = try String(contentsOf: guide, encoding: .utf8).matches(of: /(?m)^\| ([a-z][a-z ]+) \| [A-Z]/)
    #expect(rows.map { String($0.1) } == ReplayOmission.allCases.map(\.text))
  }

  @Test("A request that a cache answers was not sent")
  func notSent() async throws {
    let calls = try RecordedCalls()
    let server = try LoopbackServer.http { _ in .text("fine").adding("Cache-Control", "max-age=600") }
    let stack = try calls.stack(adapting: { $0.cache = HTTPCache() })
    for _ in 0..<2 { _ = try await stack.send(.get, server.baseURL) }
    try await expect(.notSent, of: calls)
  }

  @Test("A hedged request is two transfers")
  func hedged() async throws {
    let calls = try RecordedCalls()
    let server = try LoopbackServer { connection in
      guard try connection.readRequest() != nil else { return }
      guard connection.number > 1 else { return _ = connection.readToEnd() }
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
    }
    let hedger = try Hedger(delay: .fixed(.milliseconds(50)))
    let stack = try calls.stack(adapting: { $0.resilience = Resilience(hedger: hedger) })
    #expect(try await stack.send(.get, server.baseURL).text == "fine")
    try await expect(.hedged, of: calls)
  }

  /// Returns a server that never responds.
  private func silentServer() throws -> LoopbackServer {
    try LoopbackServer { connection in
      _ = try connection.readHead()
      connection.stall()
    }
  }

  @Test("A request that ends in the queue has no connection, and one that is cancelled ends from outside")
  func endsEarly() async throws {
    let calls = try RecordedCalls()
    let server = try silentServer()
    let stack = try calls.stack([], { $0.connectionsPerHost = 1 })
    let holder = Task { try await stack.send(.get, server.baseURL) }
    try await server.waitForRequests(count: 1)
    var options = RequestOptions()
    options.timeouts = try Timeouts(total: .milliseconds(300))
    _ = try await failure { try await stack.send(.get, server.baseURL, options: options) }
    try await expect(.noConnection, of: calls)
    holder.cancel()
    #expect(try await failure { try await holder.value }.isCancelled)
    try await expect(.cancelled, of: calls)
  }

  @Test("A connection that a stack without a recorder opened is not recorded")
  func olderConnection() async throws {
    let calls = try RecordedCalls()
    let server = try LoopbackServer.http { _ in .text("fine") }
    let engine = try CurlTransport()
    _ = try await TransportNetworkStack(transport: engine, configuration: .patient).send(.get, server.baseURL)
    var configuration = StackConfiguration.patient
    configuration.recorder = calls.recorder
    let stack = TransportNetworkStack(transport: engine, configuration: configuration)
    _ = try await stack.send(.get, server.baseURL)
    #expect(server.acceptedConnections == 1)
    try await expect(.noConnection, of: calls)
  }

  @Test("An upload of a stream has its own times, also beside another one on its connection")
  func uploads() async throws {
    let lab = try HTTP2Servers()
    let server = try lab.server { .text("\($0.body.count)") }
    let calls = try RecordedCalls()
    let stack = try calls.stack([], { $0.connection.tls.roots = .pem(Array(lab.authority.rootPEM.utf8)) })
    let url = "https://localhost:\(server.port)/"
    _ = try await stack.send(.get, url)
    func upload() -> (AsyncStream<Data>.Continuation, Task<RawAnswer, any Error>) {
      let (source, continuation) = AsyncStream<Data>.makeStream()
      return (continuation, Task { try await stack.send(.post, url, body: .stream(source)) })
    }
    let (first, firstCall) = upload()
    try await server.waitForRequests(count: 2)
    let (second, secondCall) = upload()
    try await server.waitForRequests(count: 3)
    first.yield(Data("four".utf8))
    first.finish()
    #expect(try await firstCall.value.text == "4")
    try await expect(.streamedUpload, of: calls)
    second.finish()
    #expect(try await secondCall.value.text == "0")
    try await expect(.sharedUpload, of: calls)
    #expect(server.acceptedConnections == 1)
  }

  @Test("A broken compressed body is left out, and so is a body beyond the recorder's limit")
  func leftOut() async throws {
    let calls = try RecordedCalls(maximumBytes: 1_024)
    let server = try LoopbackServer.http { request in
      request.path == "/broken"
        ? LoopbackResponse(status: 200, headers: ["Content-Encoding": "gzip"], body: Array("no gzip".utf8))
        : .text(String(repeating: "a", count: 100_000))
    }
    let stack = try calls.stack()
    _ = try await failure { try await stack.send(.get, server.baseURL + "/broken") }
    try await expect(.compressed, of: calls)
    _ = try await stack.send(.get, server.baseURL)
    try await expect(.tooLarge, of: calls)
  }

  @Test("A transfer whose response is missing in the trace is unfinished, and its replay is not equal")
  func unfinished() async throws {
    let calls = try RecordedCalls()
    let server = try LoopbackServer.http { _ in .text("fine") }
    _ = try await calls.stack().send(.get, server.baseURL)
    let lines = try calls.text().split(separator: "\n").filter { !$0.contains(#""event":"read""#) }
    let text = lines.map { $0.replacing(/"timeouts_ns":{[^}]*}/, with: #""timeouts_ns":{}"#) + "\n" }.joined()
    try await expect(.unfinished, of: calls, trace: text)
  }
}
