// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroHTTP
import LastroSupport
import TestSupport
import Testing

@testable import LastroCurl
@testable import LastroTesting

/// HTTP/1.1 exchanges, as servers and callers see them.
@Suite("HTTP/1.1 exchanges", .timeLimit(.minutes(15)))
struct EngineHTTP1Tests {
  private static func engine(
    _ adapt: (inout CurlConfiguration) -> Void = { _ in }
  ) throws -> CurlTransport {
    var configuration = CurlConfiguration()
    configuration.connection.httpVersion = .http1
    adapt(&configuration)
    return try CurlTransport(configuration)
  }

  @Test("A response is received completely, and its connection serves the next request")
  func reuse() async throws {
    let text = String(repeating: "lastro ", count: 100_000)
    let server = try LoopbackServer.http { request in .text(request.target == "/large" ? text : "fine") }
    let engine = try Self.engine()
    for _ in 0..<3 {
      #expect(await engine.outcome(server) == .answered(200, "fine"))
      #expect(await engine.outcome(server, "/large") == .answered(200, text))
    }
    #expect(server.acceptedConnections == 1)
  }

  @Test(
    "libcurl releases a plain connection once it is established, and keeps one with TLS", arguments: [false, true])
  func lettingGo(overTLS: Bool) async throws {
    let authority = try CertificateAuthority()
    let tls = try overTLS ? LoopbackTLS(authority.issue(hosts: ["localhost"])) : nil
    let server = try LoopbackServer.http(tls: tls) { _ in .text("fine") }
    let engine = try Self.engine()
    for _ in 0..<2 { #expect(await engine.outcome(server) { $0.trust(authority) } == .answered(200, "fine")) }
    #expect(server.acceptedConnections == 1)
    let ofLibcurl = engine.loops[0].loop.seat.withLock { ($0?.guest as? StreamHub)?.delegates.count ?? 0 }
    #expect(ofLibcurl == (overTLS ? 1 : 0))
  }

  @Test("TLS records that arrive together are all read, and so is a close_notify without a FIN behind them")
  func recordsAtOnce() async throws {
    let authority = try CertificateAuthority()
    let gate = try LoopbackGate()
    let server = try LoopbackServer(tls: LoopbackTLS(authority.issue(hosts: ["localhost"]))) { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\n\r\n")
      for number in 0..<200 { try connection.write("\(number % 10)") }
      connection.closeNotify()
      connection.wait(for: gate)
    }
    defer { gate.open() }
    let engine = try Self.engine()
    let text = String(repeating: "0123456789", count: 20)
    #expect(await engine.outcome(server) { $0.trust(authority) } == .answered(200, text))
  }

  @Test("Records of the server's TLS inside one record of an HTTPS proxy's TLS are all read")
  func recordsInARecord() async throws {
    let authority = try CertificateAuthority()
    let tls = try LoopbackTLS(authority.issue(hosts: ["localhost"]))
    let gate = try LoopbackGate()
    let server = try LoopbackServer(tls: tls) { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n")
      for number in 0..<200 { try connection.write("\(number % 10)") }
      connection.wait(for: gate)
    }
    defer { gate.open() }
    let proxy = try LoopbackServer(tls: tls) { [port = server.port] connection in
      _ = try connection.readHead()
      try connection.tunnel(
        to: UInt16(port), answer: Array("HTTP/1.1 200 OK\r\n\r\n".utf8), refusal: [], pause: .milliseconds(100))
    }
    let engine = try Self.engine { $0.connection.tls.roots = .pem(Array(authority.rootPEM.utf8)) }
    let text = String(repeating: "0123456789", count: 20)
    let outcome = await engine.outcome(server) {
      $0.trust(authority)
      $0.connection?.proxy = .url("https://localhost:\(proxy.port)")
    }
    #expect(outcome == .answered(200, text))
  }

  @Test(
    "The request head has the lines that its method requires",
    arguments: [HTTPRequest.Method.get, .head, .post, .delete])
  func request(method: HTTPRequest.Method) async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let engine = try Self.engine { $0.userAgent = "tests" }
    _ = await engine.outcome(server, "/a?b=c", method: method) {
      $0.head.headerFields[.cookie] = "a=b"
      if method == .post { $0.body = .raw("text") }
    }
    let request = try #require(server.requests.first)
    let fields = request.head.fields.filter { $0.name.lowercased() != "host" }.map { "\($0.name): \($0.value)" }
    var expected = ["Accept: */*", "Accept-Encoding: gzip, deflate", "Cookie: a=b", "User-Agent: tests"]
    if method == .post { expected.append("Content-Length: 4") }
    #expect("\(request.method) \(request.target)" == "\(method.rawValue) /a?b=c")
    #expect(fields.sorted() == expected.sorted())
  }

  @Test("A body is sent completely, from memory and from a source", arguments: [10, 3 << 20])
  func upload(count: Int) async throws {
    let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let server = try LoopbackServer.http { request in .text("\(request.body.count)") }
    let engine = try Self.engine()
    let source = { @Sendable in
      AsyncStream { stream in
        stream.yield(bytes)
        stream.finish()
      }
    }
    let bodies: [RequestBody] = [
      RequestBody(source: .bytes(bytes)), .stream(source(), length: Int64(count)), .stream(source()),
    ]
    for body in bodies {
      #expect(await engine.outcome(server, method: .post) { $0.body = body } == .answered(200, "\(count)"))
    }
    #expect(server.requests.allSatisfy { $0.body == [UInt8](bytes) })
  }

  @Test("Requests beyond the connections of a host wait and are then answered")
  func queue() async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let engine = try Self.engine { $0.connectionsPerHost = 2 }
    await withTaskGroup(of: Outcome.self) { group in
      for _ in 0..<50 { group.addTask { await engine.outcome(server) } }
      for await outcome in group { #expect(outcome == .answered(200, "fine")) }
    }
    #expect((1...2).contains(server.acceptedConnections))
  }

  @Test("Pins are checked at every new connection")
  func pins() async throws {
    let authority = try CertificateAuthority()
    let identity = try authority.issue(hosts: ["localhost"])
    let pin = try SPKIHash(pem: identity.certificatePEM).description
    let server = try LoopbackServer.http(tls: LoopbackTLS(identity)) { _ in .text("fine") }
    let spare = "sha256/" + String(repeating: "B", count: 43) + "="
    let absent = "sha256/" + String(repeating: "A", count: 43) + "="
    for (key, word) in [(pin, "200 fine"), (absent, "trust/pin_mismatch")] {
      let policies = [try PinningPolicy("localhost", pins: [key, spare])]
      let engine = try Self.engine {
        $0.connection.tls.roots = .pem(Array(authority.rootPEM.utf8))
        $0.pins = policies
      }
      let outcome = await engine.outcome(server) { $0.head.authority = "localhost:\(server.port)" }
      #expect("\(outcome)".contains(word.split(separator: " ")[0]), "\(outcome)")
    }
    #expect(server.requests.count == 1)
  }

  @Test("A slow reader applies back-pressure to the server, and the body arrives complete")
  func slowReader() async throws {
    let text = String(repeating: "0123456789abcdef", count: 1 << 18)
    let server = try LoopbackServer.http { _ in .text(text) }
    let engine = try Self.engine { $0.streamBufferBytes = 64 << 10 }
    let request = TransferRequest.to(server, "/", method: .get) { $0.delivery = .streamed(maximumBytes: nil) }
    let response = try await engine.execute(request)
    var count = 0
    for try await piece in response.body {
      count += piece.count
      await Task.yield()
    }
    #expect(count == text.utf8.count)
    #expect(await engine.outcome(server) == .answered(200, text))
  }

  @Test("A cancelled request ends at once and leaves nothing behind")
  func cancel() async throws {
    let server = try LoopbackServer { connection in
      _ = try connection.readHead()
      connection.stall()
    }
    let engine = try Self.engine()
    let task = Task { await engine.outcome(server) }
    try await server.waitForRequests(count: 1)
    task.cancel()
    #expect(await task.value == .failed("cancelled/cancelled"))
    #expect(await eventually { engine.activeTransfers == 0 })
  }

  /// A server's `Keep-Alive` field, and whether the next request reuses the connection.
  struct Promise: Sendable, CustomTestStringConvertible {
    var field: String
    var isUsed: Bool
    var testDescription: String { field }
  }

  @Test(
    "A connection whose Keep-Alive announces an imminent close serves no other request",
    arguments: [
      Promise(field: "timeout=0", isUsed: false), Promise(field: "max=5, Timeout=0", isUsed: false),
      Promise(field: "timeout=600", isUsed: true), Promise(field: "timeout=x", isUsed: true),
      Promise(field: "max=0", isUsed: true),
    ])
  func keepAlive(_ promise: Promise) async throws {
    let server = try LoopbackServer.http { _ in LoopbackResponse.text("fine").adding("Keep-Alive", promise.field) }
    let engine = try CurlTransport()
    for _ in 0..<3 { #expect(await engine.outcome(server) == .answered(200, "fine")) }
    #expect(server.acceptedConnections == (promise.isUsed ? 1 : 3))
  }
}
