// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl
import LastroResilience
import LastroTesting
import TestSupport
import Testing

/// Hedged requests over the engine, as the server sees them.
@Suite("Faults: hedging", .replayed, .timeLimit(.minutes(15)))
struct HedgingFaultTests {
  private static func stack(_ clock: ManualClock) throws -> CurlNetworkStack {
    var configuration = StackConfiguration.patient
    configuration.timeSource = clock.timeSource
    let hedger = try Hedger(delay: .fixed(.milliseconds(100)), time: clock.timeSource)
    configuration.resilience = Resilience(hedger: hedger)
    return try .direct(configuration: configuration.replayed)
  }

  @Test(
    "If the first response never comes, the second request's is returned, and the first connection is closed")
  func neverAnswers() async throws {
    let isClosed = EventRecorder<Int>()
    let server = try LoopbackServer { connection in
      guard try connection.readRequest() != nil else { return }
      guard connection.number > 1 else {
        _ = connection.readToEnd()
        isClosed.record(connection.number)
        return
      }
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
      _ = connection.readToEnd()
    }
    let clock = ManualClock()
    let stack = try Self.stack(clock)
    let url = "http://127.0.0.1:\(server.port)/"
    let call = Task { try await stack.send(.get, url) }
    _ = try await server.waitForRequests(count: 1)
    let isSent = await eventually {
      clock.advance(by: .milliseconds(100))
      return server.requests.count == 2
    }
    #expect(isSent)
    let answer = try await call.value
    #expect(String(decoding: answer.value, as: UTF8.self) == "fine")
    #expect(answer.response.facts.notes.map(\.detail) == ["won"])
    _ = try await isClosed.waitForEvents(count: 1)
    #expect(server.requests.count == 2)
    #expect(server.acceptedConnections == 2)
  }

  @Test("A POST is not hedged")
  func post() async throws {
    let gate = try LoopbackGate()
    let server = try LoopbackServer { connection in
      while try connection.readRequest() != nil {
        connection.wait(for: gate)
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
      }
    }
    let clock = ManualClock()
    let stack = try Self.stack(clock)
    let url = "http://127.0.0.1:\(server.port)/"
    let call = Task { try await stack.send(.post, url, body: .raw("pay")) }
    _ = try await server.waitForRequests(count: 1)
    clock.advance(by: .seconds(10))
    gate.open()
    #expect(String(decoding: try await call.value.value, as: UTF8.self) == "fine")
    #expect(server.requests.count == 1)
  }
}
