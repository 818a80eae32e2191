// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// The resources that a process holds after engines have met faults. Each test runs in a process of its own, in which
/// no other test opens descriptors.
@Suite("Faults: leaks", .timeLimit(.minutes(15)))
struct LeakTests {
  @Test("Faults, cancellations and released engines leave no descriptor, thread or task behind", .ownThread)
  func nothingIsLeft() async {
    await #expect(processExitsWith: .success) {
      // The first round loads everything that is loaded only once: the state of the resolver and of OpenSSL, and
      // Swift's threads.
      try await Hostilities.round()
      #expect(await eventually { Census.threads(named: "lastro-loop") == 0 })
      let before = await Census.settled()
      for _ in 0..<Hostilities.rounds { try await Hostilities.round() }
      #expect(await eventually { Census().growth(since: before) < Hostilities.rounds }, "\(before), then \(Census())")
      #expect(await eventually { Census.threads(named: "lastro-loop") == 0 })
    }
  }

  @Test("A running engine keeps no connection after a fault", .ownThread)
  func engineStays() async {
    await #expect(processExitsWith: .success) {
      let engine = try CurlTransport()
      try await Hostilities.provoke(engine)
      #expect(await eventually { engine.activeTransfers == 0 })
      let before = await Census.settled()
      for _ in 0..<Hostilities.rounds { try await Hostilities.provoke(engine) }
      #expect(await eventually { engine.activeTransfers == 0 })
      #expect(await eventually { Census().growth(since: before) < Hostilities.rounds }, "\(before), then \(Census())")
    }
  }
}

/// The descriptors and threads that this process holds now.
struct Census: Equatable {
  /// The number of descriptors by kind, such as `socket` or `anon_inode:[eventpoll]`.
  let descriptors: [String: Int]
  let threads: Int

  init() {
    var descriptors: [String: Int] = [:]
    for name in Self.entries("/proc/self/fd") {
      // The descriptor that read the directory is closed by now.
      guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)") else {
        continue
      }
      descriptors[String(target.prefix { $0 != ":" || target.hasPrefix("anon") }), default: 0] += 1
    }
    self.descriptors = descriptors
    threads = Self.entries("/proc/self/task").count
  }

  /// Returns the growth of the kind that grew most. A leak appears once in every round; a thread that the runtime
  /// starts late, on a busy machine, appears only once in total.
  func growth(since other: Census) -> Int {
    descriptors.map { $0.value - other.descriptors[$0.key, default: 0] }.reduce(threads - other.threads, max)
  }

  /// Returns the census once it no longer changes. Servers that were dropped take a moment to end.
  static func settled() async -> Census { await valueAtRest { Census() } }

  static func threads(named name: String) -> Int {
    entries("/proc/self/task").count { id in
      (try? String(contentsOfFile: "/proc/self/task/\(id)/comm", encoding: .utf8))?.hasPrefix(name) ?? false
    }
  }

  private static func entries(_ path: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
  }
}

/// A mix of all kinds of faults.
private enum Hostilities {
  /// The number of rounds that are compared with the first one.
  static let rounds = 4

  /// Runs one round with an engine of its own, which is dropped at the end.
  static func round() async throws {
    let engine = try CurlTransport()
    try await provoke(engine)
  }

  static func provoke(_ engine: CurlTransport) async throws {
    try await answers(engine)
    try await handshakes(engine)
    try await cancellations(engine)
  }

  private static func answers(_ engine: CurlTransport) async throws {
    let texts = [
      "", "garbage", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 7\r\n\r\ngarbage",
      "HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokEXTRA",
    ]
    for text in texts {
      let server = try faultServer(Fault("", text, .answered(0, "")))
      _ = await engine.outcome(server)
      let resetting = try LoopbackServer { connection in
        _ = try connection.readHead()
        try connection.write(text)
        connection.reset()
      }
      _ = await engine.outcome(resetting)
    }
  }

  private static func handshakes(_ engine: CurlTransport) async throws {
    let authority = try CertificateAuthority()
    let identity = try authority.issue(hosts: ["localhost"])
    let faults: [LoopbackTLS.HandshakeFault?] = [
      nil, .stallInHandshake, .resetInHandshake, .closeInHandshake, .plaintextInsteadOfTLS,
    ]
    for fault in faults {
      let server = try LoopbackServer(tls: LoopbackTLS(identity, handshakeFault: fault)) { connection in
        _ = try connection.readHead()
        try connection.write("HTTP/1.1 200 OK\r\n\r\nbody")
        connection.closeWithoutNotify()
      }
      // All requests use the system's roots: one set of options, and so one partition.
      _ = await engine.outcome(server) { $0.deadline = .milliseconds(200) }
    }
  }

  private static func cancellations(_ engine: CurlTransport) async throws {
    let server = try LoopbackServer { connection in
      guard let head = try connection.readHead() else { return }
      if head.path == "/body" { try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf") }
      connection.readSlowly()
    }
    let upload = RequestBody.stream(AsyncStream<Data> { Data(count: 64 << 10) })
    let tasks = [
      Task { await engine.outcome(server) },
      Task { await engine.outcome(server, "/body") },
      Task { await engine.outcome(server, "/body") { $0.delivery = .streamed(maximumBytes: nil) } },
      Task { await engine.outcome(server, method: .post) { $0.body = upload } },
    ]
    try await server.waitForRequests(count: tasks.count)
    for task in tasks { task.cancel() }
    for task in tasks { #expect(await task.value == .failed("cancelled/cancelled")) }
    #expect(await eventually { server.openConnections == 0 })
  }
}
