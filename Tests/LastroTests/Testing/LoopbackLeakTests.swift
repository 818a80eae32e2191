// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite("Loopback server leaks nothing")
struct LoopbackLeakTests {
  // In a process of its own: elsewhere other tests open descriptors at the same time.
  @Test("50 servers leave no descriptor and no thread")
  func fiftyServers() async {
    await #expect(processExitsWith: .success) {
      let root = try CertificateAuthority()
      let tls = LoopbackTLS(try root.issue(hosts: ["localhost"]))
      func round(_ number: Int) throws {
        let server = try LoopbackServer(tls: number % 2 == 0 ? tls : nil) { connection in
          _ = connection.readLine()
          connection.stall()
        }
        let clients = try (0..<4).map { _ in
          server.isTLS
            ? try LoopbackClient(to: server.endpoint, trusting: root.rootPEM)
            : try LoopbackClient(to: server.endpoint)
        }
        try clients.first?.send("hello\n")
        // Every third one is merely dropped.
        if number % 3 != 0 { server.stop() }
      }
      try round(0)
      try round(1)
      let before = LeakCount.now
      for number in 0..<50 { try round(number) }
      // A joined thread leaves /proc a moment after pthread_join has returned.
      #expect(LeakCount.settles(near: before))
    }
  }

  @Test("a server that serves many connections joins their threads while it runs")
  func reaping() async throws {
    await #expect(processExitsWith: .success) {
      let server = try LoopbackServer { try $0.write("x") }
      for _ in 0..<20 { _ = try LoopbackClient(to: server.endpoint).receiveAll() }
      let before = LeakCount.now
      for _ in 0..<200 { _ = try LoopbackClient(to: server.endpoint).receiveAll() }
      #expect(LeakCount.settles(near: before))
      #expect(server.acceptedConnections == 220)
    }
  }
}

/// What this process has open and runs.
private struct LeakCount: Equatable {
  var descriptors: Int
  var threads: Int

  static var now: LeakCount {
    LeakCount(descriptors: entries("/proc/self/fd"), threads: entries("/proc/self/task"))
  }

  /// Whether the counts come back. The runtime may have started a thread or a descriptor of its own meanwhile: far fewer
  /// than what dozens of servers would leave.
  static func settles(near before: LeakCount) -> Bool {
    for _ in 0..<2_000 {
      let now = LeakCount.now
      if now.descriptors <= before.descriptors + 3, now.threads <= before.threads + 6 { return true }
      usleep(1_000)
    }
    return false
  }

  private static func entries(_ path: String) -> Int {
    guard let directory = opendir(path) else { return -1 }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    return count
  }
}
