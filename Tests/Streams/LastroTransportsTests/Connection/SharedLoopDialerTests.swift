// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroStreamsTesting
import LastroTesting
import LastroTunnels
import LastroWebSocket
import TestSupport
import Testing

@testable import LastroHTTP

@Suite("WebSockets and dialers on one event loop", .timeLimit(.minutes(15)))
struct SharedLoopDialerTests {
  /// Creates a thousand values concurrently, and asserts that they share one loop. It runs in a process of its own, in
  /// which nothing else starts loops.
  private static func makeThousand<Value: Sendable>(
    _ make: @escaping @Sendable () async throws -> Value
  ) async throws -> [Value] {
    // Without a user the shared loop ends, as it may between two handshakes, and the next one starts another.
    let loop = try EventLoop.shared()
    let values = try await withThrowingTaskGroup(of: Value.self) { group in
      for _ in 0..<1_000 { group.addTask { try await make() } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(values.count == 1_000)
    let threads = try withExtendedLifetime(loop) { try LoopThreads.count() }
    #expect(threads == 1)
    return values
  }

  @Test("A thousand WebSocket handshakes start one thread", .ownThread)
  func webSockets() async {
    await #expect(processExitsWith: .success) {
      let sockets = try await SharedLoopDialerTests.makeThousand {
        try await WebSocketClient(dialer: LoopbackWebSocketServer.dialer()).connect("ws://h/")
      }
      for socket in sockets { _ = try await socket.close() }
    }
  }

  @Test("A thousand meek dialers start one thread", .ownThread)
  func meekDialers() async {
    await #expect(processExitsWith: .success) {
      let server = try MeekServer(try #require(URL(string: "http://meek.test/")))
      let streams = try await SharedLoopDialerTests.makeThousand {
        // The second request of a session is a poll, which is not answered.
        let front = MemoryDialer { _, stream in
          let far = FarEnd(stream)
          _ = try await far.readHead()
          try await far.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
          _ = try await far.readToEnd()
        }
        let dialer = MeekDialer(server, over: front)
        return (dialer, try await dialer.dial(DialRequest(host: "target.test", port: 1, connectTimeout: .seconds(240))))
      }
      for (_, stream) in streams { stream.close() }
    }
  }
}
