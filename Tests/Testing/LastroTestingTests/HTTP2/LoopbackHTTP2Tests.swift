// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import TestSupport
import Testing

@Suite("Loopback HTTP/2 server", .timeLimit(.minutes(15)))
struct LoopbackHTTP2Tests {
  typealias Frame = LoopbackHTTP2Frame

  private func fine(_ length: Int = 4, stream: UInt32, ends: Bool = false) -> Frame {
    .head(
      200, ["content-type": "text/plain; charset=utf-8", "content-length": "\(length)"], stream: stream, ends: ends)
  }

  private func echo(_ settings: LoopbackHTTP2Settings = .init()) throws -> LoopbackServer {
    try .http2(settings: settings) { .text("\($0.method) \($0.path) \($0.text)") }
  }

  @Test("A request is answered, settings and pings are acknowledged, and unknown frames are ignored")
  func exchange() throws {
    let server = try LoopbackServer.http2 { _ in .text("fine") }
    let client = try HTTP2TestClient(LoopbackClient(to: server.endpoint))
    #expect(try client.frame() == .settings([]))
    #expect(try client.frame() == Frame(.settings, flags: Frame.acknowledgement, stream: 0))
    try client.send(
      Frame(0xfe, flags: 0xff, stream: 0, payload: [1]), Frame(.priority, stream: 3, payload: [0, 0, 0, 0, 1]),
      Frame(.ping, stream: 0, payload: Array("12345678".utf8)))
    let pong = Frame(.ping, flags: Frame.acknowledgement, stream: 0, payload: Array("12345678".utf8))
    #expect(try client.frame() == pong)
    try client.get("/a%20b?q=1", stream: 1)
    #expect(try client.frames(3) == [fine(stream: 1), .data("fine".utf8, stream: 1), .data([], stream: 1, ends: true)])
    try client.get("/", stream: 3, method: "HEAD")
    #expect(try client.frame() == fine(stream: 3, ends: true))
    let request = try #require(server.requests.first)
    #expect(request.head.requestLine == "GET /a%20b?q=1 HTTP/2")
    #expect(request.head[":authority"] == "h")
    #expect(request.pathSegments == ["a b"])
    #expect(request.isComplete)
    #expect(server.requests.map(\.stream) == [1, 3])
    #expect(server.requests.map(\.connection) == [1, 1])
  }

  @Test("Streams are multiplexed, and an upload gets window updates, with padding counted and dropped")
  func multiplexing() async throws {
    let server = try echo()
    let client = try HTTP2TestClient(server)
    try client.get("/up", stream: 1, method: "POST", ends: false)
    try client.get("/get", stream: 3)
    #expect(try client.frames(3).map(\.stream) == [3, 3, 3])
    try client.send(Frame(.data, flags: Frame.padded, stream: 1, payload: [2] + Array("hi".utf8) + [0, 0]))
    #expect(try client.frames(2) == [.windowUpdate(5, stream: 0), .windowUpdate(5, stream: 1)])
    #expect(server.requests.map(\.isComplete) == [false, true])
    // Trailers end the request.
    try client.send(.headers([.init(name: "x", value: "y")], stream: 1, ends: true))
    #expect(try client.frames(2).last?.payload == Array("POST /up hi".utf8))
    #expect(server.requests.map(\.text) == ["hi", ""])
    try await server.waitForRequests(count: 2, complete: true)
  }

  @Test("Bodies respect the windows of stream and connection, and the largest frame size")
  func windows() throws {
    let body = [UInt8](repeating: 7, count: 70_000)
    let server = try LoopbackServer.http2 { _ in LoopbackResponse(body: body) }
    // The initial window is 3 bytes.
    let client = try HTTP2TestClient(server, settings: [.init(4, 3)])
    try client.get("/", stream: 1)
    #expect(try client.frames(2).last == .data([7, 7, 7], stream: 1))
    try client.send(.windowUpdate(2, stream: 1))
    #expect(try client.frame() == .data([7, 7], stream: 1))
    // The window of open streams grows by the difference (RFC 9113 §6.9.2): 20,000 − 3.
    try client.send(.settings([.init(4, 20_000)]))
    #expect(try client.frames(3).map(\.payload.count) == [0, 16_384, 19_997 - 16_384])
    // The stream's window covers the whole rest, but the connection's window is 65,535 bytes.
    try client.send(.windowUpdate(100_000, stream: 1))
    var count = 20_002
    while count < 65_535 { count += try client.frame()?.payload.count ?? .max / 2 }
    #expect(count == 65_535)
    try client.send(.windowUpdate(100_000, stream: 0))
    #expect(try client.frames(2) == [.data(body.prefix(70_000 - 65_535), stream: 1), .data([], stream: 1, ends: true)])
  }

  @Test("In a script too, a body without window is sent while requests are read")
  func windowsOfAScript() throws {
    let server = try LoopbackServer.http2Script { connection in
      while let request = try connection.readRequest() {
        try connection.respond(to: request, with: LoopbackResponse(body: [1, 2, 3, 4, 5]))
      }
    }
    let client = try HTTP2TestClient(server, settings: [.init(4, 3)])
    try client.get("/", stream: 1)
    #expect(try client.frames(2).last == .data([1, 2, 3], stream: 1))
    try client.send(.windowUpdate(9, stream: 1))
    #expect(try client.frames(2) == [.data([4, 5], stream: 1), .data([], stream: 1, ends: true)])
  }

  @Test("A header block may be Huffman-coded, indexed, padded, prioritised, and split")
  func headerBlocks() throws {
    let server = try echo()
    let client = try HTTP2TestClient(server)
    // RFC 7541 C.4.1 and C.4.2: the second request refers to entries that the first added to the dynamic table.
    let first: [UInt8] = [
      0x82, 0x86, 0x84, 0x41, 0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff,
    ]
    let second: [UInt8] = [0x82, 0x86, 0x84, 0xbe, 0x58, 0x86, 0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]
    let flags = Frame.endStream | Frame.padded | Frame.hasPriority
    try client.send(
      Frame(.headers, flags: flags, stream: 1, payload: [1, 0, 0, 0, 0, 9] + first.prefix(4) + [0]),
      Frame(.continuation, stream: 1, payload: Array(first.dropFirst(4).prefix(5))),
      Frame(.continuation, flags: Frame.endHeaders, stream: 1, payload: Array(first.dropFirst(9))),
      Frame(.headers, flags: Frame.endStream | Frame.endHeaders, stream: 3, payload: second))
    _ = try client.frames(6)
    #expect(server.requests.map { $0.head[":authority"] } == ["www.example.com", "www.example.com"])
    #expect(server.requests.last?.head["cache-control"] == "no-cache")
  }

  @Test("A head too large for a frame uses CONTINUATION; names are lower-cased, and connection fields dropped")
  func largeHead() throws {
    let value = String(repeating: "v", count: 40_000)
    let server = try LoopbackServer.http2 { _ in
      LoopbackResponse(status: 204, headers: ["X-Large": value, "Connection": "close", "Transfer-Encoding": "x"])
    }
    let client = try HTTP2TestClient(server)
    try client.get("/", stream: 1)
    let frames = try client.frames(3)
    #expect(frames.map(\.kind) == [.headers, .continuation, .continuation])
    #expect(frames.map(\.flags) == [Frame.endStream, 0, Frame.endHeaders])
    #expect(frames.flatMap(\.payload) == Frame.head(204, ["x-large": value], stream: 1).payload)
  }

  @Test("Settings are announced, and streams beyond the limit are refused and not recorded")
  func settings() throws {
    var settings = LoopbackHTTP2Settings()
    settings.maximumConcurrentStreams = 1
    settings.initialWindow = 10
    settings.maximumFrameSize = 20_000
    settings.others = [.init(2, 7)]
    settings.replenishesWindows = false
    let server = try echo(settings)
    let client = try HTTP2TestClient(LoopbackClient(to: server.endpoint))
    #expect(try client.frame() == .settings([.init(3, 1), .init(4, 10), .init(5, 20_000), .init(2, 7)]))
    _ = try client.frame()
    try client.get("/1", stream: 1, method: "POST", ends: false)
    try client.get("/2", stream: 3)
    #expect(try client.frame() == .resetStream(.refusedStream, stream: 3))
    try client.send(.data("ten  bytes".utf8, stream: 1, ends: true))
    // The response comes without a WINDOW_UPDATE before it.
    #expect(try client.frame()?.kind == .headers)
    #expect(server.requests.map(\.path) == ["/1"])
  }

  @Test("A handler that responds early gets the head, and the rest of the upload is still read")
  func early() async throws {
    var settings = LoopbackHTTP2Settings()
    settings.answersEarly = true
    let server = try LoopbackServer.http2(settings: settings) { .text("complete: \($0.isComplete)") }
    let client = try HTTP2TestClient(server)
    try client.get("/", stream: 1, method: "PUT", ends: false)
    #expect(try client.frames(3)[1] == .data("complete: false".utf8, stream: 1))
    try client.send(.data("rest".utf8, stream: 1, ends: true))
    let requests = try await server.waitForRequests(count: 1, complete: true)
    #expect(requests.map(\.text) == ["rest"])
  }

  @Test("The code with which a client resets a stream is recorded")
  func clientReset() async throws {
    let server = try LoopbackServer.http2 { _ in .fault(.stall) }
    let client = try HTTP2TestClient(server)
    try client.get("/", stream: 1)
    try client.send(.resetStream(.cancel, stream: 1), Frame(.ping, stream: 0, payload: [UInt8](repeating: 0, count: 8)))
    #expect(try client.frame()?.kind == .ping)
    #expect(server.requests.map(\.resetCode) == [.cancel])
  }

  @Test("Trailers are sent over HTTP/2 and in a chunked HTTP/1.1 body")
  func trailers() throws {
    let respond: @Sendable (LoopbackRequest) -> LoopbackResponse = { _ in .text("fine").addingTrailer("x-sum", "9") }
    let modern = try LoopbackServer.http2(respond: respond)
    let client = try HTTP2TestClient(modern)
    try client.get("/", stream: 1)
    #expect(try client.frames(3).last == .headers([.init(name: "x-sum", value: "9")], stream: 1, ends: true))
    let server = try LoopbackServer.http(respond: respond)
    let plain = try LoopbackClient(to: server.endpoint)
    try plain.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
    let text = plain.receiveAll().text
    #expect(text.contains("\r\nTransfer-Encoding: chunked\r\n"))
    #expect(text.hasSuffix("\r\n\r\n4\r\nfine\r\n0\r\nx-sum: 9\r\n\r\n"))
  }

  @Test("Over TLS h2 is offered, and http/1.1 is served if offered and selected")
  func negotiation() throws {
    let root = try CertificateAuthority()
    var tls = LoopbackTLS(try root.issue(hosts: ["localhost"]))
    let server = try LoopbackServer.http2(tls: tls) { .text($0.head.version) }
    let client = try HTTP2TestClient(
      LoopbackClient(to: server.endpoint, trusting: root.rootPEM, protocols: ["h2", "http/1.1"]))
    try client.get("/", stream: 1)
    #expect(try client.frames(4).last == .data("HTTP/2".utf8, stream: 1))
    tls.applicationProtocols = ["h2", "http/1.1"]
    let both = try LoopbackServer.http2(tls: tls) { .text($0.head.version) }
    let old = try LoopbackClient(to: both.endpoint, trusting: root.rootPEM, protocols: ["http/1.1"])
    try old.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
    #expect(old.receiveAll().text.hasSuffix("\r\n\r\nHTTP/1.1"))
  }

  @Test("A client that violates the protocol is recorded in errors, and the connection ends")
  func malformed() throws {
    let requests: [[UInt8]] = [
      Array("GET / HTTP/1.1\r\nHost: a.host.long.enough\r\n\r\n".utf8),
      Self.preface + Frame(.data, stream: 0, length: 16_385).bytes,
      Self.preface + Frame(.continuation, stream: 1).bytes,
      Self.preface + Frame(.headers, stream: 1).bytes + Frame(.data, stream: 1).bytes,
      Self.preface + Frame.brokenHeaders(stream: 1).bytes,
      Self.preface + Frame.headers([.init(name: "x", value: "y")], stream: 1).bytes,
      Self.preface + Frame(.data, flags: Frame.padded, stream: 1, payload: [1]).bytes
        + Frame(.headers, flags: Frame.padded | Frame.endHeaders, stream: 1, payload: [3, 0]).bytes,
      Self.preface + Frame(.windowUpdate, stream: 0, payload: [1]).bytes,
      Self.preface + Frame.resetStream(.cancel, stream: 1).bytes,
    ]
    for request in requests {
      let server = try echo()
      let client = try LoopbackClient(to: server.endpoint)
      try client.send(request)
      #expect(client.receiveAll().ending == .orderly)
      server.stop()
      #expect(server.errors.count == 1, "\(request)")
      guard case .malformedRequest = server.errors.first as? LoopbackError else {
        Issue.record("\(server.errors)")
        continue
      }
    }
  }

  private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

  @Test("A script reads and writes arbitrary frames")
  func script() throws {
    let server = try LoopbackServer.http2Script { http2 in
      let first = try http2.readRequest()
      try http2.write(.data("early".utf8, stream: 1), Frame(0xaa, stream: 9, payload: [1, 2]))
      if let first { try http2.respond(to: first, with: .text("fine")) }
      let frame = try http2.readFrame()
      try http2.write(.goAway(lastStream: 1, .enhanceYourCalm, debug: "type \(frame?.kind.rawValue ?? 255)"))
      http2.connection.reset()
    }
    let client = try HTTP2TestClient(server)
    try client.get("/", stream: 1)
    #expect(try client.frames(2) == [.data("early".utf8, stream: 1), Frame(0xaa, stream: 9, payload: [1, 2])])
    #expect(try client.frames(3).first == fine(stream: 1))
    try client.send(Frame(0x42, stream: 0))
    _ = try client.allFrames()
    #expect(client.ending == .reset)
    #expect(server.errors.isEmpty)
  }
}

/// An HTTP/2 client without automatic behaviour: the test sends every frame itself, after the initial settings.
final class HTTP2TestClient {
  typealias Frame = LoopbackHTTP2Frame

  private let client: LoopbackClient
  private var buffer: [UInt8] = []
  /// The way in which the connection ended; `nil` while it is open.
  private(set) var ending: LoopbackClient.Ending?

  /// Sends the preface and settings, and reads the server's settings and its acknowledgement of the client's.
  init(_ client: LoopbackClient, settings: [LoopbackHTTP2Settings.Setting] = []) throws {
    self.client = client
    try client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    try send(.settings(settings))
  }

  convenience init(_ server: LoopbackServer, settings: [LoopbackHTTP2Settings.Setting] = []) throws {
    try self.init(LoopbackClient(to: server.endpoint), settings: settings)
    _ = try [frame(), frame()]
  }

  func send(_ frames: Frame...) throws { try client.send(frames.flatMap(\.bytes)) }

  func get(_ path: String, stream: UInt32, method: String = "GET", ends: Bool = true) throws {
    try send(.headers(Self.fields(path, method: method), stream: stream, ends: ends))
  }

  static func fields(_ path: String, method: String = "GET") -> [RawRequestHead.Field] {
    [(":method", method), (":scheme", "http"), (":authority", "h"), (":path", path)].map {
      RawRequestHead.Field(name: $0, value: $1)
    }
  }

  /// Reads the next frame. Returns `nil` at the end of the connection.
  func frame() throws -> Frame? {
    guard fill(9) else { return nil }
    let length = buffer[..<3].reduce(0) { $0 << 8 | Int($1) }
    guard fill(9 + length) else { return nil }
    let stream = buffer[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    let frame = Frame(
      .init(rawValue: buffer[3]), flags: buffer[4], stream: stream, payload: Array(buffer[9..<9 + length]))
    buffer.removeFirst(9 + length)
    return frame
  }

  func frames(_ count: Int) throws -> [Frame] {
    var frames: [Frame] = []
    while frames.count < count, let frame = try frame() { frames.append(frame) }
    return frames
  }

  /// Reads all frames up to the end of the connection. The bytes of an incomplete frame remain in ``rest``.
  func allFrames() throws -> [Frame] {
    var frames: [Frame] = []
    while let frame = try frame() { frames.append(frame) }
    return frames
  }

  /// The bytes that have been read but do not form a complete frame.
  var rest: [UInt8] { buffer }

  private func fill(_ count: Int) -> Bool {
    while buffer.count < count {
      let (more, ending) = client.receive()
      buffer += more
      if let ending {
        self.ending = ending
        return false
      }
    }
    return true
  }
}
