// SPDX-License-Identifier: Apache-2.0

import CLoopback
import Glibc
import LastroTesting
import TestSupport
import Testing

@Suite("Loopback server", .timeLimit(.minutes(15)))
struct LoopbackServerTests {
  @Test("A script reads a request and writes arbitrary bytes")
  func script() throws {
    let server = try LoopbackServer { connection in
      let head = try #require(try connection.readHead())
      try connection.write(
        "\(head.method)|\(head.target)|\(head.version)|\(head.values("x-two"))|\(head["HOST"] ?? "-")")
    }
    let client = try LoopbackClient(to: server.endpoint)
    try client.send("\r\nGET /a?b=c HTTP/1.1\r\nHost: h\r\nX-Two: 1\r\nx-two:  2\t\r\n\r\n")
    let (text, ending) = client.receiveAll()
    #expect(text == #"GET|/a?b=c|HTTP/1.1|["1", "2"]|h"#)
    #expect(ending == .orderly)
    #expect(server.requests.map(\.head.bytes.count) == [54])
    #expect(server.acceptedConnections == 1)
  }

  @Test("Closing connections ends the open ones, and new ones are accepted")
  func closesConnections() throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let kept = try LoopbackClient(to: server.endpoint)
    try kept.send("GET / HTTP/1.1\r\n\r\n")
    #expect(kept.receive(until: "fine").hasSuffix("fine"))
    server.closeConnections()
    #expect(kept.receiveAll().ending == .orderly)
    let next = try LoopbackClient(to: server.endpoint)
    try next.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
    #expect(next.receiveAll().text.hasSuffix("fine"))
    #expect(server.acceptedConnections == 2)
  }

  @Test("Bodies by length and in chunks are read and recorded")
  func bodies() async throws {
    let server = try LoopbackServer { connection in
      while let head = try connection.readHead() {
        let body = try connection.readBody(for: head)
        try connection.write("\(body.count);")
      }
    }
    let client = try LoopbackClient(to: server.endpoint)
    try client.send("POST /1 HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello")
    try client.send(
      "POST /2 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\n")
    try client.send("GET /3 HTTP/1.1\r\n\r\n")
    client.halfClose()
    #expect(client.receiveAll().text == "5;13;0;")
    let requests = try await server.waitForRequests(count: 3, complete: true)
    #expect(requests.map(\.text) == ["hello", "abc0123456789", ""])
    #expect(requests.map(\.path) == ["/1", "/2", "/3"])
    #expect(requests.allSatisfy { $0.isComplete && $0.connection == 1 })
  }

  @Test(
    "Invalid requests are recorded as typed errors",
    arguments: [
      ("nonsense\r\n\r\n", LoopbackError.malformedRequest("\"nonsense\" is not a request line")),
      ("GET / HTTP/1.1\r\nno field\r\n\r\n", .malformedRequest("\"no field\" is not a header field")),
      ("GET / HTTP/1.1\r\nHost: h\r\n", .disconnected),
      ("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc", .disconnected),
      ("POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", .malformedRequest("Content-Length is \"-5\"")),
      ("POST / HTTP/1.1\r\nContent-Length: +5\r\n\r\nhello", .malformedRequest("Content-Length is \"+5\"")),
      ("POST / HTTP/1.1\r\nContent-Length: -0\r\n\r\n", .malformedRequest("Content-Length is \"-0\"")),
      (
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\n", .malformedRequest("\"+1\" is not a chunk size")
      ),
      (
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-0\r\n", .malformedRequest("\"-0\" is not a chunk size")
      ),
      (
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", .malformedRequest("\"zz\" is not a chunk size")
      ),
    ])
  func malformed(_ text: String, _ error: LoopbackError) throws {
    let server = try LoopbackServer { connection in
      if let head = try connection.readHead() { _ = try connection.readBody(for: head) }
    }
    let client = try LoopbackClient(to: server.endpoint)
    try client.send(text)
    client.halfClose()
    _ = client.receiveAll()
    server.stop()
    #expect(server.errors.map { $0 as? LoopbackError } == [error])
  }

  @Test("A server with bounds drops a client that reads nothing")
  func slowReader() async throws {
    var bounds = LoopbackBounds()
    bounds.idle = .milliseconds(50)
    let server = try LoopbackServer(bounds: bounds) { connection in
      try connection.write([UInt8](repeating: 0, count: 64 << 20))
    }
    let client = try LoopbackClient(to: server.endpoint)
    try await server.waitForConnections(count: 1)
    #expect(await eventually { server.openConnections == 0 })
    client.halfClose()
  }

  @Test(
    "A server with bounds refuses requests whose bodies can be read in two ways",
    arguments: [
      "Content-Length: 0\r\nContent-Length: 5\r\n", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: gzip, chunked\r\n", "Content-Length : 5\r\n",
      "A: b\r\n Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
    ])
  func framing(fields: String) throws {
    let server = try LoopbackServer(bounds: LoopbackBounds()) { connection in
      try connection.serveHTTP { _ in .text("served") }
    }
    let client = try LoopbackClient(to: server.endpoint)
    try client.send("POST / HTTP/1.1\r\n\(fields)\r\n0\r\n\r\n")
    client.halfClose()
    let text = client.receiveAll().text
    #expect(text.hasPrefix("HTTP/1.1 400 ") && !text.contains("served"))
  }

  @Test("Each way to end a connection is seen by the client as intended")
  func endings() throws {
    let server = try LoopbackServer { connection in
      switch connection.readLine() {
      case "reset": connection.reset()
      case "half":
        connection.halfClose()
        #expect(connection.readLine() == "still here")
      default: connection.close()
      }
    }
    for (word, ending) in [("close", LoopbackClient.Ending.orderly), ("reset", .reset), ("half", .orderly)] {
      let client = try LoopbackClient(to: server.endpoint)
      try client.send(word + "\n")
      #expect(client.receiveAll().ending == ending, "\(word)")
      if word == "half" { try client.send("still here\n") }
    }
    server.stop()
    #expect(server.errors.isEmpty)
  }

  @Test("A clean close reaches the client although its request was never read")
  func closeWithUnreadInput() throws {
    let gate = try LoopbackGate()
    let server = try LoopbackServer { connection in
      connection.wait(for: gate)
      try connection.write("bye")
    }
    let client = try LoopbackClient(to: server.endpoint)
    try client.send(String(repeating: "x", count: 50_000))
    gate.open()
    let (text, ending) = client.receiveAll()
    #expect(text == "bye")
    #expect(ending == .orderly)
  }

  @Test("A gate holds a handler until the test opens it")
  func gate() async throws {
    let gate = try LoopbackGate()
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      try connection.write(connection.wait(for: gate) ? "open" : "shut")
    }
    let client = try LoopbackClient(to: server.endpoint)
    try client.send("GET / HTTP/1.1\r\n\r\n")
    try await server.waitForRequests(count: 1)
    #expect(!gate.isOpen)
    gate.open()
    gate.open()
    #expect(client.receiveAll().text == "open")
  }

  @Test("A body sent byte by byte arrives complete")
  func drip() throws {
    let server = try LoopbackServer { try $0.drip("slow".utf8, piece: 3, every: .milliseconds(1)) }
    #expect(try LoopbackClient(to: server.endpoint).receiveAll().text == "slow")
  }

  @Test("A stall ends when the peer closes, and when the server stops")
  func stall() async throws {
    let ended = EventRecorder<Int>()
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      connection.stall()
      ended.record(connection.number)
    }
    let first = try LoopbackClient(to: server.endpoint)
    try first.send("GET / HTTP/1.1\r\n\r\nmore that nobody reads")
    first.halfClose()
    #expect(first.receiveAll().ending == .orderly)
    let second = try LoopbackClient(to: server.endpoint)
    try second.send("GET / HTTP/1.1\r\n\r\n")
    try await server.waitForRequests(count: 2)
    #expect(ended.events == [1])
    server.stop()
    #expect(ended.events == [1, 2])
    #expect(second.receiveAll().ending == .orderly)
  }

  @Test("stop ends readers, writers, pauses and gates, is idempotent, and refuses new connections")
  func stop() async throws {
    let gate = try LoopbackGate()
    let server = try LoopbackServer { connection in
      switch connection.readLine() {
      case "read": #expect(connection.read(max: 1) == [])
      case "write": while true { try connection.write(Array(repeating: 0, count: 65_536)) }
      case "pause": #expect(!connection.pause(.seconds(86_400)))
      default: #expect(!connection.wait(for: gate))
      }
    }
    var clients: [LoopbackClient] = []
    for word in ["read", "write", "pause", "gate"] {
      let client = try LoopbackClient(to: server.endpoint)
      try client.send(word + "\n")
      clients.append(client)
    }
    try await server.waitForConnections(count: 4)
    server.stop()
    server.stop()
    #expect(server.openConnections == 0)
    #expect(server.errors.compactMap { $0 as? LoopbackError } == [.disconnected])
    #expect(throws: LoopbackError.disconnected) { try LoopbackClient(to: server.endpoint) }
    await #expect(throws: LoopbackError.stopped) { try await server.waitForRequests(count: 1) }
    _ = clients
  }

  @Test("A handler may stop its own server, and a stop from outside then waits for it")
  func stopFromHandler() throws {
    let servers = EventRecorder<LoopbackServer>()
    let done = EventRecorder<String>()
    let server = try LoopbackServer { connection in
      _ = connection.readLine()
      servers.removeAll().forEach { $0.stop() }
      done.record("stopped")
    }
    servers.record(server)
    let client = try LoopbackClient(to: server.endpoint)
    try client.send("go\n")
    _ = client.receiveAll()
    server.stop()
    #expect(done.events == ["stopped"])
  }

  @Test("A handler may hold the last reference to its server")
  func dropFromHandler() async throws {
    let servers = EventRecorder<LoopbackServer>()
    let done = EventRecorder<String>()
    func start() throws -> LoopbackEndpoint {
      let server = try LoopbackServer { connection in
        _ = connection.readLine()
        servers.removeAll()
        done.record(connection.read(max: 1).isEmpty ? "dropped" : "alive")
      }
      servers.record(server)
      return server.endpoint
    }
    let client = try LoopbackClient(to: try start())
    try client.send("go\n")
    #expect(client.receiveAll().ending == .orderly)
    #expect(try await done.waitForEvents(count: 1) == ["dropped"])
  }

  @Test("Waiting is cancellable")
  func cancelWait() async throws {
    let server = try LoopbackServer { $0.stall() }
    let task = Task { try await server.waitForRequests(count: 1) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("A Unix socket is served, and its file is removed with the server")
  func unixSocket() throws {
    let path = "/tmp/lastro-\(UInt64.random(in: 0 ... .max)).sock"
    let server = try LoopbackServer.http(unixSocketPath: path) { .text($0.path) }
    let client = try LoopbackClient(to: .unixSocket(path: path))
    try client.send("GET /over-unix HTTP/1.1\r\nConnection: close\r\n\r\n")
    #expect(client.receiveAll().text.hasSuffix("\r\n\r\n/over-unix"))
    #expect(throws: LoopbackError.self) { try LoopbackServer(unixSocketPath: path) { _ in } }
    server.stop()
    let again = try LoopbackServer(unixSocketPath: path) { _ in }
    again.stop()
  }

  @Test("A path that is too long for a Unix socket sets errno, for servers and clients alike")
  func longPath() {
    let path = "/tmp/" + String(repeating: "x", count: 200)
    let calls: [(UnsafePointer<CChar>) -> Int32] = [{ cloopback_listen_unix($0) }, { cloopback_connect_unix($0) }]
    for call in calls {
      errno = 0
      let descriptor = path.withCString(call)
      let reason = errno
      #expect(descriptor == -1 && reason == ENAMETOOLONG)
    }
  }

  @Test("A port that is in use is a typed error")
  func takenPort() throws {
    let server = try LoopbackServer { _ in }
    #expect(throws: LoopbackError.self) { try LoopbackServer(port: UInt16(server.port)) { _ in } }
  }

  @Test("3,000 concurrent connections are all served")
  func manyConnections() async throws {
    #expect(LoopbackServer.raiseDescriptorLimit() >= 6_500)
    let gate = try LoopbackGate()
    let server = try LoopbackServer { connection in
      connection.wait(for: gate)
      try connection.write("served")
    }
    let clients = try (0..<3_000).map { _ in try LoopbackClient(to: server.endpoint) }
    try await server.waitForConnections(count: 3_000)
    #expect(server.openConnections == 3_000)
    gate.open()
    #expect(clients.count { $0.receiveAll() == ("served", .orderly) } == 3_000)
    server.stop()
    #expect(server.errors.isEmpty)
  }
}
