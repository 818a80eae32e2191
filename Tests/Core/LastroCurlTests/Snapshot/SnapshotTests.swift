// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Foundation
import Lastro
import LastroCurl
import LastroHTTP
import LastroResilience
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("Snapshots", .ownThread, .timeLimit(.minutes(15)))
struct SnapshotTests {
  private func values(_ kind: String, in snapshot: StackSnapshot) -> [String: StackSnapshot.Value]? {
    snapshot.parts.first { $0.kind == kind }?.values
  }

  @Test("Idle connections and running requests are counted for each server, over all loops", arguments: [1, 2])
  func pools(loops: Int) async throws {
    let gate = DispatchSemaphore(value: 0)
    let server = try LoopbackServer.http { request in
      if request.path == "/slow" { gate.wait() }
      return .text("answer")
    }
    let stack = try CurlNetworkStack.direct { $0.loops = loops }
    #expect(stack.snapshot.parts.isEmpty)
    try await stack.warm([server.baseURL], connections: 2)
    #expect(
      values("pool", in: stack.snapshot)
        == ["active": 0, "idle": 2, "dialing": 0, "requests": 0, "waiting": 0])
    async let slow = stack.send(.get, "\(server.baseURL)/slow")
    #expect(await eventually { values("pool", in: stack.snapshot)?["requests"] == 1 })
    let part = try #require(stack.snapshot.parts.first)
    #expect(part.subject == server.baseURL && part.values["active"] == 1 && part.values["idle"] == 1)
    gate.signal()
    _ = try await slow
    await stack.shutDown()
    #expect(stack.snapshot.parts.isEmpty)
  }

  @Test("Circuits, limits and quotas are shown by key, and survive JSON")
  func resilience() async throws {
    let server = try LoopbackServer.http { _ in
      LoopbackResponse(status: 429, headers: ["Retry-After": "30", "RateLimit": "\"default\";r=7;t=20"])
    }
    var configuration = StackConfiguration.patient
    configuration.resilience = Resilience(
      pacer: try Pacer(), limiter: try ConcurrencyLimiter(limit: 4), breaker: CircuitBreaker())
    let stack = try CurlNetworkStack.direct(configuration: configuration)
    _ = try? await stack.send(.get, server.baseURL)
    let snapshot = stack.snapshot
    #expect(snapshot.parts.map(\.kind) == ["breaker", "limiter", "pacer", "pool"])
    #expect(values("breaker", in: snapshot) == ["state": "closed"])
    #expect(values("limiter", in: snapshot) == ["limit": 4, "inUse": 0, "waiting": 0])
    let pace = try #require(values("pacer", in: snapshot))
    #expect(pace["left"] == 7 && pace["blockedFor"] != nil)
    #expect(try JSONDecoder().decode(StackSnapshot.self, from: JSONEncoder().encode(snapshot)) == snapshot)
    #expect(snapshot.description.contains("breaker \(server.baseURL): state closed"))
  }

  @Test("A socket with mode 0600 offers the snapshot to each HTTP client, and is removed at the end")
  func socket() async throws {
    let directory = try PeerDirectory()
    let path = "\(directory.path)/lastro.sock"
    let stack = try CurlNetworkStack.direct()
    let serving = Task { try await stack.serveSnapshot(at: path) }
    let reader = try CurlNetworkStack.direct { $0.connection.unixSocketPath = path }
    try #require(await isServed(reader))
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    for _ in 0..<3 {
      let snapshot = try await reader.fetch(.get("http://localhost/", as: StackSnapshot.self)).value
      #expect(snapshot.parts.isEmpty && abs(snapshot.time - Date().timeIntervalSince1970) < 60)
    }
    // Another process must not take the socket over while it is served.
    let second = await #expect(throws: ConfigurationError.self) { try await stack.serveSnapshot(at: path) }
    #expect(second?.message.contains(path) == true && second?.hint != nil)
    serving.cancel()
    try await serving.value
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test("A socket that an ended process has left is replaced, and other files are not")
  func leftovers() async throws {
    let directory = try PeerDirectory()
    let path = "\(directory.path)/lastro.sock"
    try leaveSocket(at: path)
    let stack = try CurlNetworkStack.direct()
    let serving = Task { try await stack.serveSnapshot(at: path) }
    let reader = try CurlNetworkStack.direct { $0.connection.unixSocketPath = path }
    #expect(await isServed(reader))
    serving.cancel()
    try await serving.value

    let file = "\(directory.path)/notes.txt"
    try Data("kept".utf8).write(to: URL(filePath: file))
    for unusable in [file, "\(directory.path)/missing/lastro.sock", "", String(repeating: "x", count: 108)] {
      let error = await #expect(throws: ConfigurationError.self) { try await stack.serveSnapshot(at: unusable) }
      #expect(error?.hint?.contains("path") == true)
    }
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "kept")
  }

  private func isServed(_ reader: CurlNetworkStack) async -> Bool {
    await eventually { (try? await reader.fetch(.get("http://localhost/", as: StackSnapshot.self))) != nil }
  }

  @Test("A client that sends nothing keeps neither others nor the end waiting")
  func silentClient() async throws {
    let directory = try PeerDirectory()
    let path = "\(directory.path)/lastro.sock"
    let stack = try CurlNetworkStack.direct()
    let serving = Task { try await stack.serveSnapshot(at: path) }
    let reader = try CurlNetworkStack.direct { $0.connection.unixSocketPath = path }
    try #require(await isServed(reader))
    var silent: [any ByteStream] = []
    for _ in 0..<3 { silent.append(try await reader.dialer.dial(DialRequest(host: "localhost", port: 80))) }
    #expect(try await reader.fetch(.get("http://localhost/", as: StackSnapshot.self)).value.parts.isEmpty)
    silent.append(try await reader.dialer.dial(DialRequest(host: "localhost", port: 80)))
    serving.cancel()
    try await serving.value
    for stream in silent { stream.close() }
  }

  @Test("The connections of a stack over a dialer are counted, too")
  func dialerTransport() async throws {
    let server = try LoopbackServer.http { _ in .text("answer") }
    let transport = try DialerTransport(over: CurlNetworkStack.direct().dialer)
    let stack = TransportNetworkStack(transport: transport, configuration: .patient)
    #expect(stack.snapshot.parts.isEmpty)
    _ = try await stack.send(.get, server.baseURL)
    #expect(values("pool", in: stack.snapshot)?["idle"] == 1 && stack.snapshot.parts.count == 1)
  }

  /// Binds a socket that nobody listens on.
  private func leaveSocket(at path: String) throws {
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(code == 0)
  }
}
