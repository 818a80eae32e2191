// SPDX-License-Identifier: Apache-2.0

import Glibc
import LastroTesting
import TestSupport
import Testing

@Suite("Loopback server: leaks", .timeLimit(.minutes(15)))
struct LoopbackLeakTests {
  // In a separate process, because other tests in this process open descriptors at the same time.
  @Test("50 servers leak no descriptor and no thread", .ownThread)
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
        // Every third server is released without a call of `stop`.
        if number % 3 != 0 { server.stop() }
      }
      // The first rounds open descriptors that OpenSSL and the runtime keep.
      try round(0)
      try round(1)
      let before = LeakCount.descriptors
      for number in 0..<50 { try round(number) }
      // A joined thread disappears from /proc shortly after pthread_join has returned.
      for _ in 0..<20_000 where LeakCount.threads != 0 { sched_yield() }
      #expect(LeakCount.threads == 0)
      #expect(LeakCount.descriptors == before)
    }
  }

  @Test("A server with many connections joins their threads while it runs", .ownThread)
  func reaping() async throws {
    await #expect(processExitsWith: .success) {
      let server = try LoopbackServer { try $0.write("x") }
      func serve(_ count: Int) throws {
        for _ in 0..<count { _ = try LoopbackClient(to: server.endpoint).receiveAll() }
        for _ in 0..<1_000_000 where server.openConnections != 0 { sched_yield() }
      }
      try serve(1)
      let before = LeakCount.descriptors
      let mappings = LeakCount.mappings
      try serve(200)
      #expect(LeakCount.descriptors == before)
      #expect(server.acceptedConnections == 201)
      // The stack of a thread that has ended stays mapped until the thread is joined.
      #expect(LeakCount.mappings < mappings + 100)
    }
  }
}

/// The numbers of descriptors, threads and memory mappings of this process.
private enum LeakCount {
  /// The number of sockets and pipes. Other descriptors, such as an epoll, belong to the runtime.
  static var descriptors: Int {
    entries("/proc/self/fd").count { name in
      var target = [CChar](repeating: 0, count: 256)
      let count = readlink("/proc/self/fd/\(name)", &target, target.count - 1)
      let text = String(decoding: target.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
      return text.hasPrefix("socket:") || text.hasPrefix("pipe:")
    }
  }

  /// The number of threads that loopback servers have started.
  static var threads: Int {
    entries("/proc/self/task").count { text("/proc/self/task/\($0)/comm") == "loopback\n" }
  }

  static var mappings: Int { text("/proc/self/maps").split(separator: "\n").count }

  private static func entries(_ path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
        tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names
  }

  private static func text(_ path: String) -> String {
    guard let file = fopen(path, "r") else { return "" }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { bytes += chunk.prefix(count) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
