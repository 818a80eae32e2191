// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroStreamsTesting
import LastroTesting
import PeerSupport
import Testing

@Suite("lastro fetch: --via", .timeLimit(.minutes(15)))
struct FetchViaTests {
  private let lab: PinnedServers
  private let leaf: MintedCertificate
  private let server: LoopbackServer
  private let socks, http, https: LoopbackServer
  private let meek: LoopbackMeekServer
  private let obfs4: LoopbackObfs4Server
  private let shadowsocks: LoopbackShadowsocksServer
  /// A URL whose host name cannot be resolved, so a request can reach the server only through a proxy.
  private var url: String { "https://far.invalid:\(server.port)/" }

  init() throws {
    lab = try PinnedServers()
    leaf = try lab.leaf("far.invalid", "127.0.0.1")
    var tls = LoopbackTLS(leaf)
    tls.applicationProtocols = ["h2", "http/1.1"]
    socks = try LoopbackServer.socks5()
    http = try LoopbackServer.tunnel()
    https = try LoopbackServer.tunnel(tls: LoopbackTLS(leaf))
    server = try LoopbackServer.http2(tls: tls) { LoopbackResponse(body: $0.body + Array("answer".utf8)) }
    meek = try LoopbackMeekServer(target: .port(server.port))
    var ofObfs4 = LoopbackObfs4Behavior(), ofShadowsocks = LoopbackShadowsocksBehavior()
    ofObfs4.target = .port(server.port)
    ofShadowsocks.target = .asked
    obfs4 = try LoopbackObfs4Server(ofObfs4)
    shadowsocks = try LoopbackShadowsocksServer(ofShadowsocks)
  }

  private var ways: [[String]] {
    let texts = [
      "socks5://127.0.0.1:\(socks.port)", "http://127.0.0.1:\(http.port)", "https://127.0.0.1:\(https.port)",
      "meek:\(meek.server.baseURL)/", obfs4.bridgeLine, shadowsocks.uri,
    ]
    return texts.map { [$0] } + [
      [texts[0], texts[1]], [texts[1], texts[0], texts[3]], [texts[0], texts[5]], [texts[5], texts[4]],
    ]
  }

  private func fetch(_ way: [String], _ flags: [String], _ url: String? = nil) async throws -> Lastro.Result {
    try await Lastro.run(["fetch"] + lab.trust + way.flatMap { ["--via", $0] } + flags + [url ?? self.url])
  }

  @Test("A page is fetched through every kind of hop and chain, in both versions of HTTP, with pins enforced")
  func everyWay() async throws {
    let pin = try PinnedServers.pin(leaf)
    for way in ways {
      for (flags, version) in [(["--http1.1"], "1.1"), ([], "2")] {
        let right = try await fetch(way, flags + ["--report", "--pin", "far.invalid=\(pin)", "-d", "sent "])
        #expect(right.status == 0, "\(way) \(right.errors)")
        #expect(try right.json()["http_version"] as? String == version)
        #expect(try right.json()["body_bytes"] as? Int == 11)
      }
      let before = server.requests.count
      let wrong = try await fetch(way, ["--pin", "far.invalid=\(PinnedServers.absent)"])
      #expect(wrong.status == 60 && wrong.errors.contains("trust/pin_mismatch"), "\(wrong.errors)")
      let plain = try await fetch(way, ["--pin", "far.invalid=\(pin)"], "http://far.invalid:\(server.port)/")
      #expect(plain.status == 60 && plain.errors.contains("plaintext_refused"), "\(plain.errors)")
      #expect(server.requests.count == before)
    }
  }

  @Test("File bodies, output to a file, limits and retries work as in every fetch")
  func flags() async throws {
    let way = ways[0]
    let file = try lab.directory.write(String(repeating: "x", count: 100_000), to: "body")
    let output = lab.directory.file("output")
    let result = try await fetch(way, ["-d", "@" + file, "-o", output])
    #expect(result.status == 0, "\(result.errors)")
    #expect(try Data(contentsOf: URL(filePath: output)).count == 100_006)
    let large = try await fetch(way, ["--max-body", "3"])
    #expect(large.status == 63 || large.errors.contains("body_too_large"), "\(large.status) \(large.errors)")
    let gone = try Loopback.freePort()
    let retried = try await fetch(
      ["socks5://127.0.0.1:\(gone)"], ["--report", "--retries", "2", "--backoff", "constant:0"])
    #expect(try retried.json().attempts.count == 3 && retried.status == 5, "\(retried.text)")
    #expect(try retried.json().failureWords == "proxy/proxy_connect_failed")
  }

  @Test("An explanation names the chain without using the network")
  func explanation() async throws {
    let result = try await Lastro.run([
      "explain", "https://far.invalid/", "--via", "socks5://ann:hush@127.0.0.1:9", "--via", "http://127.0.0.1:9",
    ])
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.text.contains("socks5://ann@127.0.0.1:9 → http://127.0.0.1:9"), "\(result.text)")
    #expect(!result.text.contains("hush"))
  }

  @Test("Flags without effect behind a chain are refused before anything is dialed, with an alternative")
  func refusals() async throws {
    let proxy = try LoopbackServer.socks5()
    let via = "socks5://127.0.0.1:\(proxy.port)"
    let cases: [([String], Int32, String)] = [
      (["--resolve", "far.invalid:443:127.0.0.1"], 64, "write the address in the URL"),
      (["--unix-socket", "/nowhere"], 64, "without --via"), (["--cert-status"], 64, "--pin"),
      (["--via", "ftp://x"], 3, "hop 2 of the chain"),
    ]
    for (flags, status, words) in cases {
      let result = try await fetch([via], flags)
      #expect(result.status == status && result.errors.contains(words), "\(result.status) \(result.errors)")
    }
    #expect(proxy.acceptedConnections == 0)
  }
}
