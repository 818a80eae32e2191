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

@Suite("WebSockets and dialers on one event loop", .serialized, .timeLimit(.minutes(5)))
struct SharedLoopDialerTests {
  /// Returns the number of threads of this process that run event loops.
  private func loopThreads() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { task in
      // A thread may have ended since the directory was read.
      (try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)) == "lastro-loop\n"
    }
  }

  /// Creates a thousand values concurrently, and asserts that they use the shared loop. Other suites may start and end
  /// a few threads meanwhile.
  private func makeThousand<Value: Sendable>(_ make: @escaping @Sendable () async throws -> Value) async throws
    -> [Value]
  {
    let first = try EventLoop.shared()
    let threads = try loopThreads()
    let values = try await withThrowingTaskGroup(of: Value.self) { group in
      for _ in 0..<1_000 { group.addTask { try await make() } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(values.count == 1_000)
    #expect(first === (try EventLoop.shared()))
    let started = try loopThreads() - threads
    #expect(started < 500)
    return values
  }

  @Test("A thousand WebSocket handshakes start no thread each")
  func webSockets() async throws {
    let sockets = try await makeThousand {
      try await WebSocketClient(dialer: LoopbackWebSocketServer.dialer()).connect("ws://h/")
    }
    for socket in sockets { _ = try await socket.close() }
  }

  @Test("A thousand meek dialers start no thread each")
  func meekDialers() async throws {
    let server = try MeekServer(try #require(URL(string: "http://meek.test/")))
    let streams = try await makeThousand {
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
