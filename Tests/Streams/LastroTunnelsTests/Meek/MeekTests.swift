// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroCurl
import LastroStreamsTesting
import LastroSupport
import LastroTesting
import LastroTransports
import PeerSupport
import TestSupport
import Testing

@testable import LastroTunnels

@Suite("meek as a tunnel", .timeLimit(.minutes(15)))
struct MeekTests {
  let lab: TestAuthority

  init() throws { lab = try TestAuthority() }

  private static let anywhere = DialRequest(host: "target.test", port: 1, connectTimeout: .seconds(600))

  private func stack() throws -> CurlNetworkStack {
    var configuration = CurlConfiguration()
    configuration.connection = lab.options()
    return try CurlNetworkStack(configuration)
  }

  private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  /// Returns a dialer through our stack, and one over streams.
  private func dialers(_ server: MeekServer) throws -> [any Dialer] {
    [MeekDialer(server, through: try stack()), MeekDialer(server, over: lab.dialer())]
  }

  @Test("Bytes pass in both directions once and in order, in the published requests of one session")
  func exchange() async throws {
    for kind in 0...1 {
      // Each dialer has its own server, because a session sends a farewell after it was closed.
      let peer = try LoopbackMeekServer()
      let dialer = try dialers(MeekServer(try url(peer.server.baseURL + "/path?x=y")))[kind]
      let stream = try await dialer.dial(Self.anywhere)
      try await stream.expectEcho(300_000)
      stream.close()
      let requests = peer.server.requests
      #expect(requests.allSatisfy { $0.method == "POST" && $0.target == "/path?x=y" && $0.body.count <= 65_536 })
      #expect(requests.first?.body == [])
      let ids = Set(requests.map { $0.head.values("X-Session-Id") })
      #expect(ids.count == 1)
      #expect(ids.first?.first?.utf8.count == 32)
      #expect(requests.allSatisfy { $0.head.values("Content-Type") == ["application/octet-stream"] })
      #expect(requests.reduce(0) { $0 + $1.body.count } == 300_000)
      #expect(peer.sessionCount == 1)
    }
  }

  @Test("The front's certificate is verified, and the server is named in the request")
  func front() async throws {
    let peer = try LoopbackMeekServer(tls: lab.tls())
    let server = try MeekServer(to: url(peer.server.baseURL), serverURL: url("https://hidden.test/meek"))
    for dialer in try dialers(server) {
      let before = peer.server.requests.count
      try await dialer.dial(Self.anywhere).expectEcho()
      let requests = peer.server.requests.dropFirst(before)
      #expect(requests.allSatisfy { $0.head.values("Host") == ["hidden.test"] && $0.target == "/meek" })
      #expect(!requests.isEmpty)
    }
    let other = try LoopbackMeekServer(tls: lab.tls("hidden.test"))
    let impostor = try MeekServer(to: url(other.server.baseURL), serverURL: url("https://hidden.test/"))
    for dialer in try dialers(impostor) {
      #expect(try await transportError { try await dialer.dial(Self.anywhere) }.code == .hostMismatch)
    }
    #expect(other.server.requests.isEmpty)
  }

  @Test("Unusable URLs are refused")
  func urls() throws {
    for (to, server) in [
      ("https://a.test/x", "https://b.test/"), ("http://a.test", "https://b.test"), ("ftp://a.test", "ftp://a.test"),
      ("https://u:p@a.test", "https://b.test"), ("https://a.test?x", "https://b.test"),
    ] {
      #expect(throws: ConfigurationError.self) { try MeekServer(to: url(to), serverURL: url(server)) }
    }
  }

  @Test("Requests for TLS and for a Unix socket are refused before anything is sent")
  func refusedRequests() async throws {
    let peer = try LoopbackMeekServer()
    var unix = ConnectionOptions()
    unix.unixSocketPath = "/tmp/x"
    for dialer in try dialers(MeekServer(try url(peer.server.baseURL))) {
      let socket = DialRequest(host: "a.test", port: 80, connection: unix)
      #expect(try await transportError { try await dialer.dial(socket) }.code == .invalidOption)
      let tls = DialRequest(host: "a.test", port: 443, tls: .init())
      #expect(try await transportError { try await dialer.dial(tls) }.code == .unsupported)
    }
    #expect(peer.server.requests.isEmpty)
  }

  @Test("Any status but 200 ends the stream after the bytes before it", arguments: [204, 302, 400, 404, 500, 503])
  func sessionEnd(status: Int) async throws {
    let peer = try LoopbackMeekServer { number, _ in number == 3 ? LoopbackResponse(status: status) : nil }
    for dialer in try dialers(MeekServer(try url(peer.server.baseURL))) {
      let stream = try await dialer.dial(Self.anywhere)
      try await stream.write(Data("abc".utf8))
      #expect(try await stream.bytes(exactly: 3) == Data("abc".utf8))
      #expect(try await transportError { try await stream.read() }.code == .connectionLost)
      #expect(try await transportError { try await stream.write(Data([1])) }.code == .connectionLost)
    }
    let none = try LoopbackMeekServer { _, _ in LoopbackResponse(status: status) }
    for dialer in try dialers(MeekServer(try url(none.server.baseURL))) {
      #expect(try await transportError { try await dialer.dial(Self.anywhere) }.code == .connectionLost)
    }
  }

  @Test(
    "A request whose response is lost is not sent again",
    arguments: [LoopbackResponse.Fault.reset, .close, .truncateBody(after: 1)])
  func lostAnswers(fault: LoopbackResponse.Fault) async throws {
    let peer = try LoopbackMeekServer { _, request in
      request.body.isEmpty ? nil : LoopbackResponse(body: [1, 2, 3], fault: fault)
    }
    for dialer in try dialers(MeekServer(try url(peer.server.baseURL))) {
      let before = peer.server.requests.count
      let stream = try await dialer.dial(Self.anywhere)
      try await stream.write(Data("once".utf8))
      let error = try await transportError { try await stream.read() }
      #expect(error.requestSent)
      #expect(try await transportError { try await stream.finishWriting() }.requestSent)
      #expect(peer.server.requests.dropFirst(before).filter { !$0.body.isEmpty }.count == 1)
    }
  }

  @Test("A response larger than the protocol allows ends the stream")
  func oversize() async throws {
    let peer = try LoopbackMeekServer { number, _ in
      number == 2 ? LoopbackResponse(body: [UInt8](repeating: 1, count: 65_537)) : nil
    }
    for dialer in try dialers(MeekServer(try url(peer.server.baseURL))) {
      let stream = try await dialer.dial(Self.anywhere)
      #expect(try await transportError { try await stream.read() }.code == .bodyTooLarge)
    }
  }

  @Test("Bytes that are not read stay with the server")
  func backPressure() async throws {
    let peer = try LoopbackMeekServer(target: .flood)
    let stream = try await MeekDialer(try MeekServer(try url(peer.server.baseURL)), through: stack()).dial(
      Self.anywhere)
    for taken in 0..<40 {
      // Reading 64 KiB makes room for exactly one more response.
      let count = try await peer.server.waitForRequests(count: 4 + taken).count
      #expect(count == 4 + taken)
      _ = try await stream.bytes(exactly: 65_536)
    }
    stream.close()
  }

  @Test("A stream retains no more data than is unread", arguments: [1000, 65_536])
  func memory(maximum: Int) async throws {
    let session = MeekSession(time: .continuous) { _ in Data(count: MeekSession.payloadBytes) }
    try await session.open()
    let stream = MeekStream(session, time: .continuous)
    for _ in 0..<400 {
      _ = try await stream.read(upTo: maximum, within: nil)
      try #require(session.state.read(\.incoming.startIndex) < MeekSession.incomingBytes)
    }
  }

  @Test("Pauses grow while no bytes move, up to five seconds")
  func pauses() async throws {
    let pauses = Lock([Duration]())
    let (enough, tell) = AsyncStream.makeStream(of: Void.self)
    let time = TimeSource(
      now: TimeSource.continuous.now,
      sleep: { duration in
        let count = pauses.withLock { pauses in
          pauses.append(duration)
          return pauses.count
        }
        guard count < 14 else {
          tell.yield()
          return try await Task.sleep(for: .seconds(3600))
        }
      })
    let peer = try LoopbackMeekServer()
    let dialer = MeekDialer(try MeekServer(try url(peer.server.baseURL)), through: try stack(), time: time)
    let stream = try await dialer.dial(DialRequest(host: "target.test", port: 1, connectTimeout: nil))
    for await _ in enough { break }
    let seen = pauses.withLock { Array($0.prefix(13)).map { ($0.inSeconds * 1000).rounded(.down) } }
    #expect(seen == [100, 150, 225, 337, 506, 759, 1139, 1708, 2562, 3844, 5000, 5000, 5000])
    // Written bytes end the pause.
    try await stream.write(Data("now".utf8))
    #expect(try await stream.bytes(exactly: 3) == Data("now".utf8))
  }

  @Test("Limits, cancellation and closing follow the rules of streams")
  func streamRules() async throws {
    let peer = try LoopbackMeekServer()
    let stream = try await MeekDialer(try MeekServer(try url(peer.server.baseURL)), through: stack()).dial(
      Self.anywhere)
    #expect(try await transportError { try await stream.read(upTo: 1, within: .milliseconds(10)) }.code == .idleTimeout)
    let task = Task { try await stream.read() }
    task.cancel()
    #expect(try await transportError { try await task.value }.code == .cancelled)
    try await stream.expectEcho()
    async let reading = transportError { try await stream.read() }
    stream.close()
    #expect(try await reading.code == .streamClosed)
    #expect(try await transportError { try await stream.write(Data([1])) }.code == .streamClosed)
  }

  @Test("A server that does not respond ends dialing at the limit, and an unreachable one after some attempts")
  func unreachable() async throws {
    let silent = try LoopbackMeekServer { _, _ in .fault(.stall) }
    for dialer in try dialers(MeekServer(try url(silent.server.baseURL))) {
      let request = DialRequest(host: "target.test", port: 1, connectTimeout: .milliseconds(100))
      #expect(try await transportError { try await dialer.dial(request) }.code == .connectTimeout)
    }
    for dialer in try dialers(MeekServer(try url("http://127.0.0.1:1/"))) {
      let error = try await transportError { try await dialer.dial(Self.anywhere) }
      #expect(error.stage == .proxy && error.code == .proxyConnectFailed && !error.requestSent)
      #expect(error.message.contains("the meek server http://127.0.0.1:1 cannot be reached"))
    }
  }

  @Test(
    "TLS through meek through SOCKS through an HTTP proxy reaches its server, and pins are enforced", .needsDante,
    .timeLimit(.minutes(15)))
  func chain() async throws {
    let dante = try await DantePeer.start()
    defer { dante.stop() }
    let proxy = try LoopbackServer.tunnel()
    let tls = try lab.tls()
    let server = try LoopbackServer(tls: tls) { try $0.echo() }
    let peer = try LoopbackMeekServer(tls: tls, target: .port(server.port))
    let way = try ViaChain([
      "http://127.0.0.1:\(proxy.port)", "socks5://127.0.0.1:\(dante.port)",
      "meek:https://hidden.test/x?front=localhost:\(peer.server.port)",
    ])
    let right = try TestAuthority.evaluator("localhost", pin: TestAuthority.pin(tls.identity))
    let dialer = try way.dialer(over: lab.base, connection: lab.options { $0.tls.trustJudge = right })
    let stream = try await dialer.dial(server.request())
    #expect(stream.facts.trust == .pinned)
    try await stream.expectEcho(200_000)
    try await stream.finishWriting()
    #expect(try await stream.read() == nil)
    #expect(peer.server.requests.allSatisfy { $0.head.values("Host") == ["hidden.test"] })
  }
}
