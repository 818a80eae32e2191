// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting
import LastroTransports
import LastroTunnels
import PeerSupport
import TestSupport
import Testing

@Suite("dante and squid: chains of tunnels", .needsDante, .peers(.dante, .squid), .timeLimit(.minutes(15)))
struct ChainPeerTests {
  let lab: TestAuthority
  let socks: String
  let http: String
  let https: String
  let login: String
  let refusedLogin: String

  init() throws {
    lab = try TestAuthority()
    socks = try "socks5://127.0.0.1:\(Peers.dante.port)"
    http = try "http://127.0.0.1:\(Peers.squid.port)"
    https = try "https://127.0.0.1:\(Peers.squid.tlsPort)"
    login = try "http://\(SquidPeer.user):\(SquidPeer.password)@127.0.0.1:\(Peers.squid.authenticatedPort)"
    // This is another user. squid would check the right user's password again, and reject a test that runs at the same
    // time.
    refusedLogin = try "http://nobody:wrong@127.0.0.1:\(Peers.squid.authenticatedPort)"
  }

  /// Returns options that trust the authority of the tests and that of squid.
  private func options(_ judge: (any ServerTrustJudge)? = nil) throws -> ConnectionOptions {
    let squid = try Data(contentsOf: URL(filePath: Peers.squid.certificates.authority))
    return lab.options {
      $0.tls.roots = .pem(Array(lab.authority.rootPEM.utf8) + [UInt8(ascii: "\n")] + Array(squid))
      $0.tls.trustJudge = judge
    }
  }

  private func engine(_ judge: (any ServerTrustJudge)? = nil) throws -> CurlTransport {
    var configuration = CurlConfiguration()
    configuration.connection = try options(judge)
    return try CurlTransport(configuration)
  }

  private func ways() -> [[String]] {
    [
      [], [socks], [http], [https], [login], [socks, http], [http, socks], [https, socks], [socks, https],
      [login, https],
      [https, https, socks], [socks, login, https],
    ]
  }

  @Test("Every chain carries plain bytes and TLS, in both directions at once")
  func everyChain() async throws {
    let plain = try LoopbackServer { try $0.echo() }
    let secure = try lab.echo()
    let engine = try engine()
    for way in ways() {
      let dialer = try ViaChain(way).dialer(on: engine)
      for (server, request) in [(plain, plain.request("127.0.0.1", tls: nil)), (secure, secure.request())] {
        let stream = try await dialer.dial(request)
        try await stream.expectEcho(200_000)
        #expect((stream.facts.tls != nil) == server.isTLS, "\(way)")
        #expect(stream.facts.trust == (server.isTLS ? .validated : .plain))
        stream.close()
      }
    }
    let squid = try Peers.squid
    // squid logs a tunnel when it ends, and may notice the end late.
    #expect(
      await eventually {
        squid.accessLog().contains { $0.hasPrefix("CONNECT localhost:\(secure.port) 200") }
      })
    let dante = try Peers.dante
    #expect(await eventually { dante.log().contains { $0.contains("pass") } })
  }

  @Test("Pins are enforced through chains: accepted, or refused before application data is sent")
  func pins() async throws {
    let tls = try lab.tls()
    for way in ways() {
      let server = try LoopbackServer(tls: tls) { try $0.echo() }
      let right = try TestAuthority.evaluator("localhost", pin: TestAuthority.pin(tls.identity))
      let stream = try await ViaChain(way).dialer(on: engine(right)).dial(server.request())
      #expect(stream.facts.trust == .pinned, "\(way)")
      try await stream.expectEcho()
      stream.close()

      let fresh = try LoopbackServer(tls: tls) { try $0.echo() }
      let wrong = try ViaChain(way).dialer(
        on: engine(TestAuthority.evaluator("localhost", pin: TestAuthority.absentPin)))
      let error = try await transportError { try await wrong.dial(fresh.request()) }
      #expect(error.code == .pinMismatch, "\(way)")
      #expect(!error.requestSent)
      #expect(fresh.receivedBytes == 0)
      let inTheClear = try await transportError { try await wrong.dial(fresh.request(tls: nil)) }
      #expect(inTheClear.code == .plaintextRefused, "\(way)")
    }
  }

  @Test("Hosts without a policy are refused, while proxies are still used")
  func strictPolicy() async throws {
    let tls = try lab.tls()
    let server = try LoopbackServer(tls: tls) { try $0.echo() }
    let strict = try engine(
      TestAuthority.evaluator("localhost", pin: TestAuthority.pin(tls.identity), allowsOthers: false))
    for way in [[socks], [http], [socks, http], [https, socks]] {
      let dialer = try ViaChain(way).dialer(on: strict)
      try await dialer.dial(server.request()).expectEcho()
      let error = try await transportError { try await dialer.dial(server.request("127.0.0.1")) }
      #expect(error.code == .hostNotPinned, "\(way)")
      #expect(try await transportError { try await dialer.dial(server.request("127.0.0.1", tls: nil)) }.stage == .trust)
    }
  }

  @Test("A cut connection is distinguished from a clean end through chains")
  func truncation() async throws {
    let cut = try LoopbackServer(tls: lab.tls()) { connection in
      try connection.write("part")
      connection.closeWithoutNotify()
    }
    let clean = try LoopbackServer(tls: lab.tls()) { connection in
      try connection.write("all")
      connection.close()
    }
    let engine = try engine()
    for way in ways().dropFirst() {
      let dialer = try ViaChain(way).dialer(on: engine)
      #expect(try await dialer.dial(clean.request()).rest() == Data("all".utf8), "\(way)")
      let broken = try await dialer.dial(cut.request())
      #expect(try await broken.bytes(exactly: 4) == Data("part".utf8))
      #expect(try await transportError { try await broken.read() }.code == .truncatedStream, "\(way)")
    }
  }

  @Test("Refusals of proxies are reported at any position of the chain")
  func refusals() async throws {
    let server = try LoopbackServer { try $0.echo() }
    let engine = try engine()
    // No server listens at the lowest port.
    let nobody = DialRequest(host: "127.0.0.1", port: 1, connectTimeout: .seconds(600))
    func error(_ way: String..., to request: DialRequest) async throws -> TransportError {
      let dialer = try ViaChain(way).dialer(on: engine)
      return try await transportError { try await dialer.dial(request) }
    }
    let request = server.request("127.0.0.1", tls: nil)
    #expect(try await error(refusedLogin, to: request).engineCode == 407)
    #expect(try await error(socks, refusedLogin, to: request).engineCode == 407)
    let name = DialRequest(host: "refused.test", port: 443, connectTimeout: .seconds(600))
    #expect(try await error(http, to: name).engineCode == 403)
    #expect(try await error(http, socks, to: nobody).engineCode == Int32(SOCKS5Reply.connectionRefused.rawValue))
    #expect(try await error(socks, http, to: nobody).engineCode == 503)
    // The first proxy cannot reach the second.
    #expect(try await error(socks, "http://127.0.0.1:1", to: request).code == .proxyRefused)
    #expect(try await error(http, "socks5://127.0.0.1:1", to: request).code == .proxyRefused)
    // The SOCKS proxy is addressed as an HTTP proxy, and the other proxy's certificate is not trusted.
    #expect(try await error("http" + socks.dropFirst(6), to: request).stage == .proxy)
    let stranger = try ViaChain([https]).dialer(over: TestAuthority.engine())
    #expect(try await transportError { try await stranger.dial(request) }.stage == .proxy)
    #expect(server.acceptedConnections == 0)
  }

  @Test("TLS over two proxies reaches a third-party server")
  func foreignServer() async throws {
    let squid = try Peers.squid
    var options = try options()
    options.tls.roots = .file(try squid.certificates.authority)
    // squid's own port speaks TLS by OpenSSL. Addressed as a server, squid responds with an error page.
    let dialer = try ViaChain([socks, http]).dialer(over: lab.base, connection: options)
    let stream = try await dialer.dial(
      DialRequest(host: "localhost", port: squid.tlsPort, tls: .init(), connectTimeout: .seconds(600)))
    try await stream.write(Data("GET / HTTP/1.0\r\n\r\n".utf8))
    #expect(try await stream.bytes(exactly: 9) == Data("HTTP/1.1 ".utf8))
  }
}
