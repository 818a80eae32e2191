// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroStreamsTesting
import LastroTesting
import PeerSupport
import Synchronization
import TestSupport
import Testing

@Suite("lastro connect", .peers(.nginx, .squid, .dante), .timeLimit(.minutes(15)))
struct ConnectCommandTests {
  private let lab: PinnedServers

  init() throws { lab = try PinnedServers() }

  private static func echo(_ tls: LoopbackTLS? = nil) throws -> LoopbackServer {
    try LoopbackServer(tls: tls) { connection in
      while true {
        let bytes = connection.read(max: 65_536)
        if bytes.isEmpty { return connection.close() }
        try connection.write(bytes)
      }
    }
  }

  private static func request(_ server: String) -> String { "GET /hello HTTP/1.0\r\nHost: \(server)\r\n\r\n" }

  @Test("Standard input is sent to the server, and everything received goes to standard output")
  func joins() async throws {
    let server = try Self.echo()
    let text = String(repeating: "0123456789abcdef", count: 100_000)
    let result = try await Lastro.run(["connect", "127.0.0.1:\(server.port)"], input: text)
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.text == text)
  }

  @Test("A server that takes no input, says nothing and stays connected does not hold the program")
  func deafServer() async throws {
    let path = lab.directory.file("deaf")
    let server = try DeafServer(path)
    defer { withExtendedLifetime(server) {} }
    let input = String(repeating: "0123456789abcdef", count: 1_000_000)
    let result = try await Lastro.run(
      ["connect", "service.test:1", "--unix-socket", path, "--linger", "0.1"], input: input)
    #expect(result.status == 55 && result.errors.contains("send/send_failed"), "\(result.errors)")
  }

  @Test("nginx responds over TCP and TLS")
  func nginx() async throws {
    let nginx = try Peers.nginx
    let plain = try await Lastro.run(
      ["connect", "127.0.0.1:\(nginx.ports.plain)"], input: Self.request("localhost"))
    #expect(plain.status == 0, "\(plain.errors)")
    #expect(plain.text.hasPrefix("HTTP/1.1 "), "\(plain.text)")
    // nginx sends no close_notify after it has received one, so the input stays open.
    let tls = try await Lastro.run(
      ["connect", "--tls", "--cacert", nginx.certificates.authority, "localhost:\(nginx.ports.tlsHTTP1)"],
      input: Self.request("localhost"), endsInput: false)
    #expect(tls.status == 0, "\(tls.errors)")
    #expect(tls.text.hasPrefix("HTTP/1.1 "), "\(tls.text)")
  }

  @Test("A server is verified as for a fetch: root, name, pins, and no plain stream to a pinned host")
  func trust() async throws {
    let leaf = try lab.leaf("localhost")
    let server = try Self.echo(LoopbackTLS(leaf))
    let host = "localhost:\(server.port)"
    let pin = try PinnedServers.pin(leaf)
    let cases: [([String], Int32)] = [
      (lab.trust, 0), ([], 35), (lab.trust + ["--pin", "localhost=\(pin)"], 0),
      (lab.trust + ["--pin", "localhost=\(PinnedServers.absent)"], 60),
      (lab.trust + ["--server-name", "other.test"], 35),
    ]
    for (flags, status) in cases {
      let result = try await Lastro.run(["connect", "--tls", host] + flags, input: "hello")
      #expect(result.status == status, "\(flags) \(result.errors)")
      #expect(result.text == (status == 0 ? "hello" : ""))
    }
    let plain = try await Lastro.run(["connect", host, "--pin", "localhost=\(pin)"], input: "hello")
    #expect(plain.status == 60)
    #expect(plain.errors.contains("plaintext_refused"))
  }

  @Test("A truncated TLS stream is a failure after the received data")
  func truncation() async throws {
    let server = try LoopbackServer(tls: LoopbackTLS(try lab.leaf("localhost"))) { connection in
      try connection.write("half")
      connection.closeWithoutNotify()
    }
    let result = try await Lastro.run(["connect", "--tls", "localhost:\(server.port)"] + lab.trust)
    #expect(result.status == 56)
    #expect(result.text == "half")
    #expect(result.errors.contains("truncated_stream"), "\(result.errors)")
  }

  @Test("Bytes pass through SOCKS 5, an HTTP proxy, and both; over TLS with pins", .needsDante)
  func via() async throws {
    let leaf = try lab.leaf("localhost")
    let server = try Self.echo(LoopbackTLS(leaf))
    let socks = "socks5://127.0.0.1:\(try Peers.dante.port)", http = "http://127.0.0.1:\(try Peers.squid.port)"
    for hops in [[socks], [http], [socks, http], [http, socks]] {
      let via = hops.flatMap { ["--via", $0] }
      for (pin, status) in [(try PinnedServers.pin(leaf), 0), (PinnedServers.absent, 60)] {
        let result = try await Lastro.run(
          ["connect", "--tls", "localhost:\(server.port)", "--pin", "localhost=\(pin)"] + lab.trust + via,
          input: "through")
        #expect(result.status == Int32(status), "\(hops) \(result.errors)")
        #expect(result.text == (status == 0 ? "through" : ""))
      }
    }
    #expect(try Peers.squid.accessLog().contains { $0.hasPrefix("CONNECT localhost:\(server.port)") })
  }

  @Test("A refusing proxy, and one that closes the connection, are proxy failures")
  func refusedByProxy() async throws {
    let refused = try await Lastro.run(
      ["connect", "refused.test:80", "--via", "http://127.0.0.1:\(try Peers.squid.port)"])
    #expect(refused.status == 5, "\(refused.errors)")
    let closed = try LoopbackServer { $0.close() }
    let silent = try await Lastro.run(
      ["connect", "127.0.0.1:80", "--via", "socks5://127.0.0.1:\(closed.port)"])
    #expect(silent.status == 5, "\(silent.errors)")
  }

  @Test("An unreachable first proxy is named as the proxy, and in a chain the refusing hop is named", .needsDante)
  func whichHop() async throws {
    // A port that the kernel does not assign to a server of another test meanwhile.
    let port = try Loopback.freePort()
    let socks = try Peers.dante.port, http = try Peers.squid.port
    let cases: [(via: [String], words: String, parts: [String])] = [
      (
        ["socks5://127.0.0.1:\(port)"], "proxy/proxy_connect_failed",
        ["the SOCKS proxy 127.0.0.1:\(port) cannot be reached"]
      ),
      (
        ["http://127.0.0.1:\(port)"], "proxy/proxy_connect_failed",
        ["the HTTP proxy 127.0.0.1:\(port) cannot be reached"]
      ),
      (["meek:http://127.0.0.1:\(port)/"], "proxy/proxy_connect_failed", ["the meek server http://127.0.0.1:\(port)"]),
      (["socks5://nobody.invalid:1080"], "proxy/proxy_not_found", ["the SOCKS proxy nobody.invalid:1080"]),
      (
        ["socks5://127.0.0.1:\(socks)", "http://127.0.0.1:\(port)"], "proxy/proxy_refused",
        ["the SOCKS proxy 127.0.0.1:\(socks) refused to connect to 127.0.0.1:\(port)"]
      ),
      (
        ["http://127.0.0.1:\(http)", "socks5://127.0.0.1:\(port)"], "proxy/proxy_refused",
        ["the HTTP proxy 127.0.0.1:\(http) answered CONNECT 127.0.0.1:\(port)"]
      ),
    ]
    for (via, words, parts) in cases {
      let result = try await Lastro.run(["connect", "127.0.0.1:9"] + via.flatMap { ["--via", $0] })
      #expect(result.status == 5, "\(via) \(result.errors)")
      #expect(result.errors.hasPrefix("lastro: \(words)"), "\(via) \(result.errors)")
      for part in parts { #expect(result.errors.contains(part), "\(via) \(result.errors)") }
    }
  }

  @Test("meek, obfs4 and Shadowsocks pass on no end: the program ends 10 s after the last byte")
  func endsThatDoNotPass() async throws {
    let meek = try LoopbackMeekServer(), obfs4 = try LoopbackObfs4Server(),
      shadowsocks = try LoopbackShadowsocksServer()
    let ways = ["meek:\(meek.server.baseURL)/", obfs4.bridgeLine, shadowsocks.uri]
    let text = String(repeating: "ballast ", count: 20_000)
    try await withThrowingTaskGroup { group in
      for way in ways {
        group.addTask {
          let result = try await Lastro.run(["connect", "127.0.0.1:9", "--via", way], input: text)
          #expect(result.status == 0, "\(way) \(result.errors)")
          #expect(result.text == text, "\(way)")
        }
      }
      try await group.waitForAll()
    }
    #expect(shadowsocks.targets == ["127.0.0.1:9"])
    let via = ["connect", "127.0.0.1:9", "--via", ways[0], "--linger"]
    for value in ["0", "-1", "nan", "100000"] {
      #expect(try await Lastro.run(via + [value]).status == 64, "\(value)")
    }
    // The program reads until the server ends the stream, long before the linger time passes.
    let echo = try Self.echo(nil)
    let plain = try await Lastro.run(["connect", "127.0.0.1:\(echo.port)", "--linger", "60"], input: "x")
    #expect(plain.status == 0 && plain.text == "x")
  }

  @Test("--udp sends each piece as a datagram and prints the replies")
  func datagrams() async throws {
    let server = try LoopbackDatagramServer { .answer($0.bytes + Array("!".utf8)) }
    let result = try await Lastro.run(
      ["connect", "--udp", "--udp-wait", "5", "127.0.0.1:\(server.port)"], input: "ping")
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.text == "ping!")
    #expect(server.datagrams.map(\.bytes) == [Array("ping".utf8)])
  }

  @Test("An undeliverable datagram, and input that a server does not accept, are failures")
  func untaken() async throws {
    let refusing = try LoopbackDatagramServer { _ in .drop }
    try refusing.setRefusing(true)
    let refused = try await Lastro.run(["connect", "--udp", "127.0.0.1:\(refusing.port)"], input: "ping")
    #expect(refused.status == 7, "\(refused.errors)")
    let deaf = try LoopbackServer { connection in
      _ = connection.read(max: 1)
      connection.halfClose()
      connection.stall()
    }
    let text = String(repeating: "x", count: 64 << 20)
    let result = try await Lastro.run(["connect", "127.0.0.1:\(deaf.port)"], input: text)
    #expect(result.status == 55, "\(result.errors)")
  }

  @Test("A server that has ended its direction gets all the input it accepts")
  func endsFirst() async throws {
    let taken = Atomic(0)
    let server = try LoopbackServer { connection in
      connection.halfClose()
      while case let count = connection.read(max: 65_536).count, count > 0 { taken.add(count, ordering: .relaxed) }
    }
    let text = String(repeating: "x", count: 64 << 20)
    let result = try await Lastro.run(["connect", "127.0.0.1:\(server.port)"], input: text)
    #expect(result.status == 0, "\(result.errors)")
    #expect(await eventually { taken.load(ordering: .relaxed) == text.utf8.count })
  }

  @Test("An invalid command line is reported before anything is sent")
  func misuse() async throws {
    let cases: [([String], Int32)] = [
      (["127.0.0.1"], 64), (["127.0.0.1:99999"], 64), (["2001:db8::443"], 64), (["127.0.0.1:1", "--udp", "--tls"], 64),
      (["127.0.0.1:1", "--server-name", "x"], 64), (["127.0.0.1:1", "--via", "ftp://x"], 3),
      (["127.0.0.1:1", "--udp", "--via", "socks5://x:1"], 64), (["127.0.0.1:1", "--pin-policy", "/nowhere"], 3),
    ]
    for (arguments, status) in cases {
      #expect(try await Lastro.run(["connect"] + arguments).status == status, "\(arguments)")
    }
  }
}

/// A server on a Unix socket that ends the reading of its connections: writing to them fails, and reading waits.
private final class DeafServer {
  private let listener: Int32

  init(_ path: String) throws {
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let isBound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    try #require(isBound && listen(listener, 8) == 0)
    Thread.detachNewThread { [listener] in
      while case let connection = accept(listener, nil, nil), connection >= 0 {
        shutdown(connection, Int32(SHUT_RD))
      }
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }
}
