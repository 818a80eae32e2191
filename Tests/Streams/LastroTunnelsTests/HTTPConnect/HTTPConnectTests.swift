// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroTesting
import LastroTunnels
import TestSupport
import Testing

@Suite("HTTP CONNECT as a tunnel", .timeLimit(.minutes(15)))
struct HTTPConnectTests {
  private static func dialer(
    _ shape: MemoryStream.Shape = .init(), credentials: ProxyServer.Credentials? = nil,
    _ serve: @escaping @Sendable (FarEnd) async throws -> Void
  ) throws -> HTTPConnectDialer {
    try HTTPConnectDialer(
      proxy: ProxyServer(host: "proxy.test", port: 3128, credentials: credentials),
      over: MemoryDialer(shape: shape) { _, stream in try await serve(FarEnd(stream)) })
  }

  @Test(
    "CONNECT sends host and port, and bytes behind the response head are kept", arguments: [1, 2, 3, 7, 64, Int.max],
    [("Example.test", "example.test:443"), ("10.1.2.3", "10.1.2.3:443"), ("2001:DB8::1", "[2001:db8::1]:443")])
  func tunnel(piece: Int, target: (host: String, authority: String)) async throws {
    let seen = EventRecorder<String>()
    let dialer = try Self.dialer(.init(longestRead: piece)) { far in
      seen.record(try await far.readHead())
      try await far.write(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Connection established\r\nVia: 1.1 x\r\nContent-Length: 9\r\n\r\nhello"
      )
      try await far.echo()
    }
    let stream = try await dialer.dial(DialRequest(host: target.host, port: 443, connectTimeout: .seconds(600)))
    #expect(try await stream.bytes(exactly: 5) == Data("hello".utf8))
    try await stream.write(Data("and back".utf8))
    try await stream.finishWriting()
    #expect(try await stream.rest() == Data("and back".utf8))
    #expect(seen.events == ["CONNECT \(target.authority) HTTP/1.1\r\nHost: \(target.authority)\r\n\r\n"])
  }

  @Test(
    "A 2xx response has no body, whatever its framing fields say (RFC 9110 §9.3.6)",
    arguments: [
      "Content-Length: 9\r\nTransfer-Encoding: chunked", "Content-Length: 1\r\nContent-Length: 2", "Content-Length: x",
      "Transfer-Encoding: gzip", "Connection: close\r\nContent-Length: 5",
    ])
  func framing(fields: String) async throws {
    let dialer = try Self.dialer { far in
      _ = try await far.readHead()
      try await far.write("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\nhello")
    }
    let stream = try await dialer.dial(DialRequest(host: "a.test", port: 1, connectTimeout: .seconds(600)))
    #expect(try await stream.rest() == Data("hello".utf8))
  }

  @Test("The response head may be split anywhere")
  func splits() async throws {
    let head = Array("HTTP/1.1 204 OK\r\nA: b\r\n\r\n!".utf8)
    for split in 1..<head.count {
      let (near, far) = MemoryStream.pair()
      let end = FarEnd(far)
      let proxy = try ProxyServer(host: "proxy.test", port: 3128)
      let dialer = try HTTPConnectDialer(proxy: proxy, over: GivenStreamDialer(near))
      async let dialing = dialer.dial(DialRequest(host: "a.test", port: 1, connectTimeout: .seconds(600)))
      _ = try await end.readHead()
      try await end.write(Array(head[..<split]))
      try await end.write(Array(head[split...]))
      try await far.finishWriting()
      #expect(try await dialing.rest() == Data("!".utf8), "\(split)")
    }
  }

  @Test("Early bytes are returned in small reads and dropped on close")
  func earlyBytes() async throws {
    let dialer = try Self.dialer { far in
      _ = try await far.readHead()
      try await far.write("HTTP/1.0 200\r\n\r\nabcdef")
      _ = try await far.readToEnd()
    }
    let stream = try await dialer.dial(DialRequest(host: "a.test", port: 1, connectTimeout: .seconds(600)))
    #expect(try await stream.read(upTo: 2) == Data("ab".utf8))
    #expect(try await stream.read(upTo: 3) == Data("cde".utf8))
    #expect(try await transportError { try await stream.read(upTo: 0) }.code == .invalidOption)
    stream.close()
    #expect(try await transportError { try await stream.read(upTo: 1) }.code == .streamClosed)
    #expect(try await transportError { try await stream.write(Data([1])) }.code == .streamClosed)
  }

  @Test("Basic credentials are sent at once")
  func credentials() async throws {
    let seen = EventRecorder<String>()
    let dialer = try Self.dialer(credentials: .init(user: "Aladdin", password: "open sesame")) { far in
      seen.record(try await far.readHead())
      try await far.write("HTTP/1.1 200 OK\r\n\r\n")
    }
    #expect(try await dialer.dial(DialRequest(host: "a.test", port: 1, connectTimeout: .seconds(600))).rest().isEmpty)
    // The credentials are the example of RFC 7617 §2.
    #expect(seen.events[0].contains("\r\nProxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"))
    #expect(!String(reflecting: dialer.proxy).contains("sesame"))
  }

  @Test("Any status but 2xx is a refusal", arguments: [300, 301, 400, 403, 404, 407, 500, 502, 503, 999])
  func refusals(status: Int) async throws {
    let dialer = try Self.dialer { far in
      _ = try await far.readHead()
      try await far.write("HTTP/1.1 \(status) No\r\nContent-Length: 3\r\n\r\nabc")
      #expect(try await far.readToEnd().isEmpty)
    }
    let error = try await transportError {
      try await dialer.dial(DialRequest(host: "a.test", port: 1, connectTimeout: .seconds(600)))
    }
    #expect(error.stage == .proxy)
    #expect(error.code == .proxyRefused)
    #expect(error.engineCode == Int32(status))
    #expect(!error.requestSent)
  }

  @Test(
    "A proxy that violates HTTP is refused",
    arguments: [
      "SSH-2.0-x\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 101 Switching\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA: " + String(repeating: "x", count: 300_000), String(repeating: "x", count: 300_000),
      "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 600), "\0\0\0\n",
      String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 40),
    ], [1000, Int.max])
  func hostile(answer: String, piece: Int) async throws {
    let dialer = try Self.dialer(.init(longestRead: piece)) { far in
      _ = try await far.readHead()
      try await far.write(answer)
      _ = try await far.readToEnd()
    }
    let error = try await transportError {
      try await dialer.dial(DialRequest(host: "a.test", port: 1, connectTimeout: .seconds(600)))
    }
    #expect(error.stage == .proxy)
    #expect(error.code == .protocolViolation)
  }

  @Test(
    "An end within the head is a refusal", arguments: ["", "HTTP/1.1 200 OK\r\nA: b", "HTTP/1.1 100 Continue\r\n\r\n"])
  func early(answer: String) async throws {
    let dialer = try Self.dialer { far in
      _ = try await far.readHead()
      try await far.write(answer)
    }
    let error = try await transportError {
      try await dialer.dial(DialRequest(host: "a.test", port: 1, connectTimeout: .seconds(600)))
    }
    #expect(error.stage == .proxy)
    #expect(error.code == .proxyRefused)
  }

  @Test(
    "A proxy that is silent, or responds byte by byte, ends at the connect limit",
    arguments: ["", "HTTP/1.1 200 OK\r\n"])
  func silence(answer: String) async throws {
    let dialer = try Self.dialer { far in
      _ = try await far.readHead()
      try await far.write(answer)
      _ = try await far.readToEnd()
    }
    let request = DialRequest(host: "a.test", port: 1, connectTimeout: .milliseconds(30))
    let error = try await transportError { try await dialer.dial(request) }
    #expect(error.code == .connectTimeout)
  }

  @Test("No host can inject a line into the head")
  func injection() async throws {
    let dialer = try Self.dialer { far in Issue.record("\(try await far.readHead())") }
    for host in ["a.test\r\nX: y", "a.test HTTP/1.1", "a\nb", "a\0b", "a.test/", "a@b", "a?b", "a#b", "[::1]x", ""] {
      #expect(
        try await transportError {
          try await dialer.dial(DialRequest(host: host, port: 1, connectTimeout: .seconds(600)))
        }.code == .invalidOption)
    }
    for (user, password) in [("a:b", "c"), ("a\r\n", "c"), ("a", "c\n")] {
      let proxy = try ProxyServer(host: "p", port: 1, credentials: .init(user: user, password: Secret(password)))
      #expect(throws: ConfigurationError.self) { try HTTPConnectDialer(proxy: proxy, over: MemoryDialer { _, _ in }) }
    }
  }

  @Test("The proxy is dialed with TLS if it uses TLS, by the rules for proxies, and pins of the host are enforced")
  func requests() async throws {
    let below = PinnedHostsDialer(
      below: MemoryDialer { _, stream in
        _ = try await FarEnd(stream).readHead()
        try await FarEnd(stream).write("HTTP/1.1 200 OK\r\n\r\n")
      }, pinned: ["pinned.test", "proxy.test"])
    let proxy = try ProxyServer(host: "proxy.test", port: 3128)
    let dialer = try HTTPConnectDialer(proxy: proxy, tls: .init(applicationProtocols: ["http/1.1"]), over: below)
    #expect(
      try await transportError {
        try await dialer.dial(DialRequest(host: "pinned.test", port: 80, connectTimeout: .seconds(600)))
      }.code
        == .plaintextRefused)
    #expect(below.dialed.events.isEmpty)
    let stream = try await dialer.dial(DialRequest(host: "free.test", port: 80, connectTimeout: .seconds(600)))
    #expect(stream.facts.tls == nil)
    #expect(stream.facts.trust == .plain)
    let request = try #require(below.dialed.events.first)
    #expect(request.role == .proxy)
    #expect(request.tls?.applicationProtocols == ["http/1.1"])
    #expect(
      try await transportError { try await dialer.dial(DialRequest(host: "a.test", port: 1, tls: .init())) }.code
        == .unsupported)
  }
}
