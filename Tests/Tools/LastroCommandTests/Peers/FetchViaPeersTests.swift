// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import PeerSupport
import Testing

@Suite("lastro fetch: --via, through obfs4proxy, shadowsocks-libev and Dante", .timeLimit(.minutes(15)))
struct FetchViaPeersTests {
  private let lab: PinnedServers
  private let pin: String
  private let server: LoopbackServer

  init() throws {
    lab = try PinnedServers()
    let leaf = try lab.leaf("localhost", "127.0.0.1")
    pin = try PinnedServers.pin(leaf)
    var tls = LoopbackTLS(leaf)
    tls.applicationProtocols = ["h2", "http/1.1"]
    server = try LoopbackServer.http2(tls: tls) { LoopbackResponse(body: $0.body + Array("answer".utf8)) }
  }

  private func fetch(_ way: [String], _ flags: [String] = []) async throws -> Lastro.Result {
    try await Lastro.run(
      ["fetch"] + lab.trust + way.flatMap { ["--via", $0] } + flags + ["https://127.0.0.1:\(server.port)/"])
  }

  private func expectPages(_ way: [String], sourceLocation: SourceLocation = #_sourceLocation) async throws {
    for (flags, version) in [(["--http1.1"], "1.1"), ([], "2")] {
      let right = try await fetch(way, flags + ["--report", "--pin", "127.0.0.1=\(pin)", "-d", "sent "])
      #expect(right.status == 0, "\(way) \(right.errors)", sourceLocation: sourceLocation)
      #expect(try right.json()["http_version"] as? String == version, sourceLocation: sourceLocation)
      #expect(try right.json()["body_bytes"] as? Int == 11, sourceLocation: sourceLocation)
    }
    let before = server.requests.count
    let wrong = try await fetch(way, ["--pin", "127.0.0.1=\(PinnedServers.absent)"])
    #expect(
      wrong.status == 60 && wrong.errors.contains("trust/pin_mismatch"), "\(wrong.errors)",
      sourceLocation: sourceLocation)
    #expect(server.requests.count == before, sourceLocation: sourceLocation)
  }

  @Test("A page is fetched through an obfs4proxy that forwards to the URL's server", arguments: [0, 1, 2])
  func obfs4(mode: Int) async throws {
    let bridge = try await Obfs4ProxyPeer.server(to: server.port)
    let plus = bridge.certificate.replacing("+", with: "%2B")
    try await expectPages(["obfs4:127.0.0.1:\(bridge.port)?cert=\(plus)&iat-mode=\(mode)"])
    try await expectPages([bridge.bridgeLine(mode: mode)])
  }

  @Test("A page is fetched through an obfs4proxy that forwards to a proxy, which is the next hop", .needsDante)
  func obfs4ToProxy() async throws {
    let dante = try await DantePeer.start()
    defer { dante.stop() }
    let bridge = try await Obfs4ProxyPeer.server(to: dante.port)
    try await expectPages([bridge.bridgeLine(), "socks5://proxy.invalid:1080"])
  }

  @Test(
    "A page is fetched through an ss-server, alone and behind a SOCKS 5 proxy", .needsDante,
    arguments: ["aes-128-gcm", "aes-256-gcm", "chacha20-ietf-poly1305"])
  func shadowsocks(method: String) async throws {
    let proxy = try await ShadowsocksPeer.server(method)
    let dante = try await DantePeer.start()
    defer { dante.stop() }
    try await expectPages([proxy.shadowsocksURI(method)])
    try await expectPages(["socks5://127.0.0.1:\(dante.port)", proxy.shadowsocksURI(method)])
  }

  @Test("With a wrong password an ss-server is silent, the connect limit passes, and nothing is fetched")
  func wrongPassword() async throws {
    let proxy = try await ShadowsocksPeer.server("aes-256-gcm")
    let result = try await fetch(["ss://aes-256-gcm:wrong@127.0.0.1:\(proxy.port)"], ["--connect-timeout", "1"])
    #expect(result.status == 28, "\(result.errors)")
    #expect(result.errors.contains("timeout/connect_timeout"), "\(result.errors)")
    #expect(server.requests.isEmpty)
  }

  @Test("If libcrypto refuses MD5, a Shadowsocks server is refused before anything is dialed")
  func withoutMD5() async throws {
    let file = try lab.directory.write(
      "openssl_conf = init\n[init]\nalg_section = evp\n[evp]\ndefault_properties = fips=yes\n", to: "fips.cnf")
    let result = try await Lastro.run(
      ["fetch", "https://127.0.0.1:\(server.port)/", "--via", "ss://aes-256-gcm:x@127.0.0.1:\(server.port)"],
      environment: ["OPENSSL_CONF": file])
    #expect(result.status == 3, "\(result.errors)")
    #expect(result.errors.contains("libcrypto refuses MD5"), "\(result.errors)")
    #expect(server.acceptedConnections == 0)
  }
}
