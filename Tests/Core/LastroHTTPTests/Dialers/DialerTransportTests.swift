// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroHTTP

/// HTTP/1.1 over streams in memory: the bytes that are sent, and the results of responses in every split.
@Suite("Dialer transport", .timeLimit(.minutes(15)))
struct DialerTransportTests {
  @Test("A GET is sent and answered")
  func get() async throws {
    let heads = EventRecorder<String>()
    let server = MemoryServer { far, _ in
      heads.record(try await far.readHead())
      try await far.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
      _ = try await far.readToEnd()
    }
    let transport = try DialerTransport(over: server.dialer)
    let answer = try await transport.execute(.to("/a?b", authority: "h.example"))
    #expect(answer.body.bytes == Data("hello".utf8))
    #expect(answer.facts.httpVersion == "1.1" && !answer.facts.connectionReused)
    #expect(
      heads.events == [
        "GET /a?b HTTP/1.1\r\nHost: h.example\r\nUser-Agent: Lastro/\(PackageVersion.text)\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate\r\n\r\n"
      ])
    #expect(server.dials.events.map(\.host) == ["h.example"] && server.dials.events.map(\.port) == [80])
  }

  @Test("Cookies are sent in one field, an empty POST has Content-Length: 0, and a requested close is sent")
  func heads() async throws {
    let heads = EventRecorder<String>()
    let server = MemoryServer { far, _ in
      while case let head = try await far.readHead(), !head.isEmpty {
        heads.record(head)
        try await far.write("HTTP/1.1 204 No\r\n\r\n")
      }
    }
    let transport = try server.transport()
    let agent = "User-Agent: Lastro/\(PackageVersion.text)\r\n"
    _ = try await transport.execute(.to(fields: [.accept: "a/b", .cookie: "a=1; b=2"]))
    _ = try await transport.execute(.to("/", .post))
    _ = try await transport.execute(.to(fields: [.connection: "close"]))
    _ = try await transport.execute(.to())
    #expect(
      heads.events == [
        "GET / HTTP/1.1\r\nHost: h\r\n\(agent)Accept: a/b\r\nCookie: a=1; b=2\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\n\(agent)Content-Length: 0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n\(agent)Connection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n\(agent)\r\n",
      ])
    #expect(server.dials.count == 2)
  }

  /// The bytes of a response, and the expected result: status and body, or a failure's code, and whether the connection
  /// is kept.
  private static let answers: [(String, status: Int, body: String, code: FailureCode?, isKept: Bool)] = [
    ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", nil, true),
    ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "", nil, true),
    ("HTTP/1.1 204 No\r\n\r\n", 204, "", nil, true),
    ("HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n", 304, "", nil, true),
    (
      "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "3\r\nabc\r\n1;x=y\r\nd\r\n0\r\nT: v\r\n\r\n",
      404, "abcd", nil, true
    ),
    ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: x, Close\r\n\r\nhi", 200, "hi", nil, false),
    ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", nil, false),
    ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi", 200, "hi", nil, true),
    ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiextra", 200, "hi", nil, false),
    ("HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nhi", 500, "hi", nil, true),
    ("SSH-2.0-x\r\n", 0, "", .malformedResponse, false),
    ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", 200, "", .malformedResponse, false),
    ("HTTP/1.1 101 Switching\r\n\r\n", 0, "", .malformedResponse, false),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5 5\r\n", 200, "", .malformedResponse, false),
    ("HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n\r\n", 0, "", .headTooLarge, false),
    ("HTTP/1.1 200 OK\r\nA: \(String(repeating: "x", count: 200))", 0, "", .headTooLarge, false),
    ("HTTP/1.1 100 C\r\n\r\nHTTP/1.1 102 C\r\n\r\nHTTP/1.1 103 C\r\n\r\n", 0, "", .tooManyInterimResponses, false),
    ("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", 200, "", .bodyTooLarge, false),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n", 200, "", .bodyTooLarge, false),
  ]

  @Test("Every response is parsed in pieces of every size", arguments: [1, 2, 3, 5, 7, 11, 16, 33, 64, Int.max])
  func pieces(size: Int) async throws {
    for (bytes, status, body, code, isKept) in Self.answers {
      let server = MemoryServer(answering: bytes, .init(longestRead: size))
      let transport = try server.transport {
        $0.maximumHeadBytes = 150
        $0.maximumHeaderFields = 3
        $0.maximumInterimResponses = 2
        // More interim responses are allowed as time passes, so the clock must not move.
        $0.timeSource = ManualClock().timeSource
      }
      do {
        let answer = try await transport.execute(.to(limit: 10))
        #expect(code == nil && answer.head.status.code == status && answer.body.bytes == Data(body.utf8))
      } catch {
        #expect(error.code == code && error.requestSent, "\(bytes.debugDescription): \(error)")
        #expect(error.facts != nil)
      }
      _ = await failure { () async throws(TransportError) in try await transport.execute(.to(limit: 10)) }
      #expect(server.dials.count == (isKept ? 1 : 2), "\(bytes.debugDescription)")
    }
  }

  @Test("Every response is parsed when split in two at any byte")
  func splits() async throws {
    let bytes = Array(
      "HTTP/1.1 103 E\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: v\r\n\r\n".utf8)
    let server = MemoryServer { far, _ in
      while case let head = try await far.readHead(), !head.isEmpty {
        let cut = Int(head.split(separator: " ")[1].dropFirst()) ?? 0
        try await far.write(Array(bytes[..<cut]))
        await Task.yield()
        try await far.write(Array(bytes[cut...]))
      }
    }
    let transport = try server.transport()
    for cut in 1..<bytes.count {
      let answer = try await transport.execute(.to("/\(cut)"))
      #expect(answer.body.bytes == Data("abc".utf8))
      #expect(answer.facts.connectionReused == (cut > 1) && answer.facts.bytesReceived == 3)
    }
    #expect(server.dials.count == 1)
  }

  @Test(
    "A response delimited by the end of the connection is complete or truncated, depending on that end",
    arguments: [
      ("HTTP/1.1 200 OK\r\n\r\nhel", false, nil), ("HTTP/1.1 200 OK\r\n\r\nhel", true, FailureCode.truncatedBody),
      ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", false, .truncatedBody), ("", false, .connectionLost),
      ("HTTP/1.1 200 OK\r\n", false, .connectionLost), ("HTTP/1.1 100 C\r\n\r\n", true, .connectionLost),
    ])
  func ends(sent: String, isCut: Bool, code: FailureCode?) async throws {
    let server = MemoryServer { far, _ in
      _ = try await far.readHead()
      try await far.write(sent)
      if isCut { far.stream.truncate() }
    }
    let transport = try server.transport()
    let error = await failure { () async throws(TransportError) in try await transport.execute(.to()) }
    #expect(error?.code == code && error?.requestSent == code.map { _ in true })
    #expect(server.dials.count == 1)
  }

  @Test("A truncated error body is reported as cut, and the status is kept")
  func cuts() async throws {
    for (body, kept, code) in [
      ("Content-Length: 9\r\n\r\nhel", "hel", FailureCode.truncatedBody),
      ("Content-Length: 9\r\n\r\nhello wor", "hello", .bodyTooLarge), ("Content-Length: 5\r\n\r\nhello", "hello", nil),
    ] {
      let server = MemoryServer { far, _ in
        _ = try await far.readHead()
        try await far.write("HTTP/1.1 503 Busy\r\n" + body)
      }
      let transport = try server.transport()
      let answer = try await transport.execute(.to(limit: 5))
      #expect(answer.head.status.code == 503 && answer.facts.bodyCut?.code == code)
      #expect(answer.body.bytes == Data(kept.utf8))
    }
  }

  @Test("A response to HEAD has no body, whatever its head announces")
  func head() async throws {
    let server = MemoryServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n")
    let transport = try server.transport()
    for _ in 0..<3 {
      let answer = try await transport.execute(.to("/", .head, limit: 10))
      #expect(answer.head.status == .ok && answer.body.bytes == Data())
    }
    #expect(server.dials.count == 1)
  }

  @Test("A response that switches protocols returns the stream, with the bytes behind the head")
  func upgrade() async throws {
    let server = MemoryServer { far, _ in
      _ = try await far.readHead()
      try await far.write("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nfirst")
      try await far.echo()
    }
    let transport = try server.transport()
    let fields: HTTPFields = [.connection: "Upgrade", .upgrade: "x"]
    for delivery in [TransferRequest.Delivery.collected(maximumBytes: 0), .streamed(maximumBytes: nil)] {
      let answer = try await transport.execute(.to(fields: fields) { $0.delivery = delivery })
      #expect(answer.head.status.code == 101)
      let stream = try #require(answer.body.upgraded)
      #expect(try await stream.bytes(exactly: 5) == Data("first".utf8))
      try await stream.expectEcho()
      stream.close()
    }
    #expect(server.dials.count == 2)
  }

  @Test("A compressed body is decoded; a decompression bomb is refused")
  func codings() async throws {
    let hello: [UInt8] =
      [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1, 5, 0, 0xFA, 0xFF] + Array("hello".utf8)
      + [0x86, 0xA6, 0x10, 0x36, 5, 0, 0, 0]
    let server = MemoryServer { far, _ in
      while case let head = try await far.readHead(), !head.isEmpty {
        let coding = head.contains("/two") ? "gzip, gzip" : "gzip"
        try await far.write(
          Array("HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(hello.count)\r\n\r\n".utf8) + hello
        )
      }
    }
    let transport = try server.transport { $0.decompresses = true }
    #expect(try await transport.execute(.to()).body.bytes == Data("hello".utf8))
    let raw = try await transport.execute(.to(fields: [.range: "bytes=0-9"]))
    #expect(raw.body.bytes == Data(hello))
    let error = await failure { () async throws(TransportError) in try await transport.execute(.to("/two")) }
    #expect(error?.code == .badContentEncoding)
  }

  @Test("A request that cannot be sent is refused, and an invalid URL is not dialed")
  func refusals() async throws {
    let server = MemoryServer(answering: "HTTP/1.1 204 No\r\n\r\n")
    let transport = try server.transport()
    let error = await failure { () async throws(TransportError) in
      try await transport.execute(.to(scheme: "gopher"))
    }
    #expect(error?.code == .unsupportedScheme && error?.requestSent == false && server.dials.count == 0)
    let spaced = await failure { () async throws(TransportError) in try await transport.execute(.to("/a b")) }
    #expect(spaced?.stage == .request && spaced?.requestSent == false)
    #expect(try await transport.execute(.to()).head.status == .noContent && server.dials.count == 1)
  }
}

/// An HTTP/1.1 server over streams in memory, and a transport to it.
struct MemoryServer {
  let dials = EventRecorder<DialRequest>()
  private let shape: MemoryStream.Shape
  private let facts: StreamFacts
  private let serve: @Sendable (FarEnd, Int) async throws -> Void

  /// - Parameter serve: serves a stream; its number counts from 1.
  init(
    _ shape: MemoryStream.Shape = .init(), facts: StreamFacts = StreamFacts(),
    serve: @escaping @Sendable (FarEnd, Int) async throws -> Void
  ) {
    self.shape = shape
    self.facts = facts
    self.serve = serve
  }

  /// Creates a server that answers each request without a body with these bytes.
  init(answering answer: String, _ shape: MemoryStream.Shape = .init()) {
    self.init(shape) { far, _ in
      while case let head = try await far.readHead(), !head.isEmpty { try await far.write(answer) }
    }
  }

  var dialer: MemoryDialer {
    MemoryDialer(shape: shape, facts: facts) { [dials, serve] request, stream in
      try await serve(FarEnd(stream), dials.record(request) + 1)
    }
  }

  func transport(_ edit: (inout DialerTransport.Configuration) -> Void = { _ in }) throws -> DialerTransport {
    var configuration = DialerTransport.Configuration()
    configuration.decompresses = false
    configuration.sendsAccept = false
    edit(&configuration)
    return try DialerTransport(over: dialer, configuration: configuration)
  }
}

/// Runs an exchange, and returns its error; `nil` if it succeeds.
func failure(_ body: () async throws(TransportError) -> TransferResponse) async -> TransportError? {
  do throws(TransportError) {
    _ = try await body()
    return nil
  } catch {
    return error
  }
}
