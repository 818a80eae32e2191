// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroTesting
import LastroTunnels
import TestSupport
import Testing

@Suite("SOCKS 5 as a tunnel", .timeLimit(.minutes(15)))
struct SOCKS5Tests {
  private static let granted: [UInt8] = [5, 0, 0, 1, 127, 0, 0, 1, 0x1F, 0x90]

  private static func proxy(_ credentials: ProxyServer.Credentials? = nil) throws -> ProxyServer {
    try ProxyServer(host: "proxy.test", port: 1080, credentials: credentials)
  }

  private static func dialer(
    _ shape: MemoryStream.Shape = .init(), credentials: ProxyServer.Credentials? = nil,
    _ serve: @escaping @Sendable (FarEnd) async throws -> Void
  ) throws -> SOCKS5Dialer {
    try SOCKS5Dialer(
      proxy: proxy(credentials), over: MemoryDialer(shape: shape) { _, stream in try await serve(FarEnd(stream)) }
    )
  }

  @Test(
    "Names are sent to the proxy as names, and addresses as addresses, in pieces of any size",
    arguments: [1, 2, 3, 5, 9, Int.max],
    [
      ("example.test", [3, 12] + Array("example.test".utf8)), ("10.1.2.3", [1, 10, 1, 2, 3]),
      ("2001:db8::1", [4, 0x20, 1, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [1]),
      ("[2001:DB8::1]", [4, 0x20, 1, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [1]),
      ("Bücher.test", [3, 18] + Array("xn--bcher-kva.test".utf8)), ("a_b.test", [3, 8] + Array("a_b.test".utf8)),
    ] as [(String, [UInt8])])
  func targets(piece: Int, target: (host: String, bytes: [UInt8])) async throws {
    let seen = EventRecorder<[UInt8]>()
    let dialer = try Self.dialer(.init(longestRead: piece)) { far in
      seen.record(try await far.read(3))
      try await far.write([5, 0])
      seen.record(try await far.read(3 + target.bytes.count + 2))
      // The bytes that follow at once belong to the tunnel.
      try await far.write(Self.granted + Array("hello".utf8))
      try await far.echo()
    }
    let stream = try await dialer.dial(DialRequest(host: target.host, port: 0x1234, connectTimeout: .seconds(600)))
    #expect(try await stream.bytes(exactly: 5) == Data("hello".utf8))
    try await stream.write(Data("and back".utf8))
    try await stream.finishWriting()
    #expect(try await stream.rest() == Data("and back".utf8))
    #expect(seen.events == [[5, 1, 0], [5, 1, 0] + target.bytes + [0x12, 0x34]])
  }

  @Test("The address bound by the proxy may have any type and length", arguments: [1, 4, Int.max])
  func boundAddresses(piece: Int) async throws {
    let bounds: [[UInt8]] = [
      [1, 9, 9, 9, 9], [4] + Array(repeating: 7, count: 16), [3, 0], [3, 3, 65, 66, 67],
      [3, 255] + Array(repeating: 65, count: 255),
    ]
    for bound in bounds {
      let dialer = try Self.dialer(.init(longestRead: piece)) { far in
        _ = try await far.read(3)
        try await far.write([5, 0])
        _ = try await far.read(10)
        try await far.write([5, 0, 0] + bound + [0, 80] + [42])
      }
      let stream = try await dialer.dial(DialRequest(host: "10.0.0.1", port: 80, connectTimeout: .seconds(600)))
      #expect(try await stream.rest() == Data([42]))
    }
  }

  @Test("User and password are sent if the proxy asks for them, and only then")
  func credentials() async throws {
    let seen = EventRecorder<[UInt8]>()
    let login = ProxyServer.Credentials(user: "ann", password: "pässword")
    let asking = try Self.dialer(credentials: login) { far in
      seen.record(try await far.read(4))
      try await far.write([5, 2])
      seen.record(try await far.read(1 + 1 + 3 + 1 + 9))
      try await far.write([1, 0])
      _ = try await far.read(10)
      try await far.write(Self.granted)
    }
    #expect(
      try await asking.dial(DialRequest(host: "10.0.0.1", port: 80, connectTimeout: .seconds(600))).rest().isEmpty)
    #expect(seen.events == [[5, 2, 0, 2], [1, 3] + Array("ann".utf8) + [9] + Array("pässword".utf8)])

    let open = try Self.dialer(credentials: login) { far in
      _ = try await far.read(4)
      try await far.write([5, 0])
      _ = try await far.read(10)
      try await far.write(Self.granted)
    }
    #expect(try await open.dial(DialRequest(host: "10.0.0.1", port: 80, connectTimeout: .seconds(600))).rest().isEmpty)
  }

  @Test("Every refusal is reported in the words of RFC 1928", arguments: SOCKS5Reply.allCases.dropFirst())
  func refusals(reply: SOCKS5Reply) async throws {
    let dialer = try Self.dialer { far in
      _ = try await far.read(3)
      try await far.write([5, 0])
      _ = try await far.read(10)
      // Some proxies cut the reply short when they refuse.
      try await far.write([5, reply.rawValue, 0, 1])
    }
    let error = try await transportError {
      try await dialer.dial(DialRequest(host: "10.0.0.1", port: 80, connectTimeout: .seconds(600)))
    }
    #expect(error.stage == .proxy)
    #expect(error.code == .proxyRefused)
    #expect(error.engineCode == Int32(reply.rawValue))
    #expect(error.message.contains(reply.description))
    #expect(!error.requestSent)
  }

  @Test(
    "A proxy that violates the protocol is refused",
    arguments: [
      ([[4, 0]], FailureCode.protocolViolation), ([[0x48, 0x54]], .protocolViolation), ([[5, 1]], .protocolViolation),
      ([[5, 2]], .protocolViolation), ([[5, 0xFF]], .proxyRefused), ([[5, 0x80]], .protocolViolation),
      ([[]], .proxyRefused),
      ([[5]], .proxyRefused), ([[5, 0], [4, 0, 0, 1]], .protocolViolation),
      ([[5, 0], [5, 0, 0, 2]], .protocolViolation),
      ([[5, 0], [5, 9, 0, 1]], .proxyRefused), ([[5, 0], [5, 0, 0, 1, 127]], .proxyRefused),
      ([[5, 0], [5, 0, 0, 3, 200, 1]], .proxyRefused), ([[5, 0], []], .proxyRefused),
    ] as [([[UInt8]], FailureCode)], [1, Int.max])
  func hostile(script: (answers: [[UInt8]], code: FailureCode), piece: Int) async throws {
    let dialer = try Self.dialer(.init(longestRead: piece)) { far in
      for (index, answer) in script.answers.enumerated() {
        _ = try await far.read(index == 0 ? 3 : 10)
        try await far.write(answer)
      }
      try await far.stream.finishWriting()
      // Any other bytes that the client sends would arrive here.
      #expect(try await far.readToEnd().count <= 10)
    }
    let error = try await transportError {
      try await dialer.dial(DialRequest(host: "10.0.0.1", port: 80, connectTimeout: .seconds(600)))
    }
    #expect(error.stage == .proxy)
    #expect(error.code == script.code)
    #expect(!error.requestSent)
  }

  @Test(
    "A wrong password is reported as the proxy's refusal",
    arguments: [[1, 1], [1, 255], [5, 0], [0, 0]] as [[UInt8]])
  func wrongPassword(verdict: [UInt8]) async throws {
    let dialer = try Self.dialer(credentials: .init(user: "ann", password: "x")) { far in
      _ = try await far.read(4)
      try await far.write([5, 2])
      _ = try await far.read(7)
      try await far.write(verdict)
    }
    let error = try await transportError {
      try await dialer.dial(DialRequest(host: "10.0.0.1", port: 80, connectTimeout: .seconds(600)))
    }
    #expect(error.stage == .proxy)
    #expect(error.code == (verdict[0] == 1 ? .proxyRefused : .protocolViolation))
    #expect(!"\(error)".contains("ann"))
  }

  @Test("A proxy that falls silent at any point ends at the connect limit", arguments: 0...2)
  func silence(answers: Int) async throws {
    let ended = EventRecorder<Int>()
    let dialer = try Self.dialer { far in
      // On a busy machine, the limit may pass before the client has sent anything.
      defer { ended.record(1) }
      _ = try await far.read(3)
      if answers > 0 { try await far.write([5, 0]) }
      if answers > 1 { try await far.write([5, 0, 0]) }
      _ = try? await far.readToEnd()
    }
    let request = DialRequest(host: "10.0.0.1", port: 80, connectTimeout: .milliseconds(30))
    let error = try await transportError { try await dialer.dial(request) }
    #expect(error.stage == .timeout)
    #expect(error.code == .connectTimeout)
    #expect(!error.requestSent)
    try await ended.waitForEvents(count: 1)
  }

  @Test("Cancelling ends the handshake and closes the connection")
  func cancellation() async throws {
    let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    let ended = EventRecorder<Int>()
    let dialer = try Self.dialer { far in
      _ = try await far.read(3)
      ask.yield()
      _ = try? await far.readToEnd()
      ended.record(1)
    }
    let task = Task { try await dialer.dial(DialRequest(host: "10.0.0.1", port: 80, connectTimeout: nil)) }
    for await _ in asked { break }
    task.cancel()
    #expect(try await transportError { try await task.value }.code == .cancelled)
    try await ended.waitForEvents(count: 1)
  }

  @Test("The proxy is dialed as a proxy without the client's certificate, after a check for plain text")
  func plaintext() async throws {
    let below = PinnedHostsDialer(
      below: MemoryDialer { _, stream in
        let far = FarEnd(stream)
        _ = try await far.read(3)
        try await far.write([5, 0])
        _ = try await far.read(4 + 1 + 9 + 2)
        try await far.write(Self.granted)
      }, pinned: ["pinned.test", "proxy.test"])
    let dialer = try SOCKS5Dialer(proxy: Self.proxy(), over: below)
    let refused = try await transportError {
      try await dialer.dial(DialRequest(host: "pinned.test", port: 80, connectTimeout: .seconds(600)))
    }
    #expect(refused.code == .plaintextRefused)
    #expect(below.dialed.events.isEmpty)

    var options = ConnectionOptions()
    options.tls.identity = .init(certificate: .bytes([1]))
    options.localInterface = "lo"
    _ = try await dialer.dial(
      DialRequest(host: "free.test", port: 80, connection: options, connectTimeout: .seconds(600)))
    let request = try #require(below.dialed.events.first)
    #expect(request.host == "proxy.test")
    #expect(request.port == 1080)
    #expect(request.role == .proxy)
    #expect(request.connection?.tls.identity == nil)
    #expect(request.connection?.localInterface == "lo")
  }

  @Test("Unsupported requests are refused before anything is sent")
  func refusedRequests() async throws {
    let below = PinnedHostsDialer(below: MemoryDialer { _, _ in }, pinned: [])
    let dialer = try SOCKS5Dialer(proxy: Self.proxy(), over: below)
    var unix = ConnectionOptions()
    unix.unixSocketPath = "/tmp/x"
    let requests: [(DialRequest, FailureCode)] = [
      (DialRequest(host: "a.test", port: 443, tls: .init()), .unsupported),
      (DialRequest(host: "", port: 80), .invalidOption), (DialRequest(host: "a b", port: 80), .invalidOption),
      (DialRequest(host: "a.test\r\nX: y", port: 80), .invalidOption),
      (DialRequest(host: "a.test:80", port: 80), .invalidOption), (DialRequest(host: "::zz", port: 80), .invalidOption),
      (DialRequest(host: "a.test", port: 0), .invalidOption),
      (DialRequest(host: "a.test", port: 65_536), .invalidOption),
      (DialRequest(host: String(repeating: "a", count: 300), port: 80), .invalidOption),
      (DialRequest(host: "a.test", port: 80, connection: unix), .invalidOption),
    ]
    for (request, code) in requests {
      let error = try await transportError { try await dialer.dial(request) }
      #expect(error.code == code, "\(request.host)")
      #expect(error.stage == .request)
    }
    #expect(below.dialed.events.isEmpty)
    #expect(try await transportError { try await dialer.dialDatagrams(requests[0].0) }.code == .unsupported)
  }

  @Test("Credentials that SOCKS 5 cannot carry are refused by the initializer")
  func badCredentials() throws {
    for (user, password) in [
      ("", "x"), ("x", ""), (String(repeating: "x", count: 256), "x"), ("x", String(repeating: "é", count: 128)),
    ] {
      let proxy = try Self.proxy(.init(user: user, password: Secret(password)))
      #expect(throws: ConfigurationError.self) { try SOCKS5Dialer(proxy: proxy, over: MemoryDialer { _, _ in }) }
    }
    #expect(throws: ConfigurationError.self) { try ProxyServer(host: "x y", port: 1) }
    #expect(throws: ConfigurationError.self) { try ProxyServer(host: "x", port: 0) }
    let proxy = try Self.proxy(.init(user: "ann", password: "geheim"))
    #expect("\(proxy)" == "ann@proxy.test:1080")
    #expect(!String(reflecting: proxy).contains("geheim"))
  }
}
