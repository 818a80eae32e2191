// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroCurl
import LastroLifecycle
import LastroTesting
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

@Suite("The stack as a service", .timeLimit(.minutes(15)))
struct ServiceTests {
  @Test("At the shutdown signal the stack accepts no more fetches, and running ones end")
  func graceful() async throws {
    let gate = try LoopbackGate()
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      connection.wait(for: gate)
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
    }
    let stack = try CurlNetworkStack()
    let resource = RawHTTPResource.raw(try ResourceRequest(url: "http://127.0.0.1:\(server.port)/"))
    try await testGracefulShutdown { signal in
      async let running: Void = stack.run()
      async let answer = stack.fetch(resource)
      try await server.waitForRequests(count: 1)
      signal.triggerGracefulShutdown()
      gate.open()
      #expect(try await answer.value == Data("fine".utf8))
      try await running
    }
    let late = await #expect(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(resource) }
    #expect(late?.code == .shutDown)
    #expect(server.requests.count == 1)
  }

  @Test("When its task is cancelled before the signal, the service ends and the stack stays usable")
  func cancelled() async throws {
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
    }
    let stack = try CurlNetworkStack()
    let running = Task { try await stack.run() }
    running.cancel()
    await #expect(throws: CancellationError.self) { try await running.value }
    let resource = RawHTTPResource.raw(try ResourceRequest(url: "http://127.0.0.1:\(server.port)/"))
    #expect(try await stack.fetch(resource).value == Data("fine".utf8))
  }
}
