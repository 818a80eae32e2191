// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTesting
import PeerSupport
import TestSupport
import Testing

/// Tests of the loopback server features that trust tests rely on.
@Suite("Loopback server and trust", .timeLimit(.minutes(15)))
struct LoopbackTrustTests {
  let root: CertificateAuthority
  let identity: MintedCertificate

  init() throws {
    root = try CertificateAuthority()
    identity = try root.issue(hosts: ["localhost"])
  }

  private func server(_ tls: LoopbackTLS) throws -> LoopbackServer {
    try LoopbackServer.http(tls: tls) { _ in .text("fine") }
  }

  private func get(_ client: LoopbackClient) throws -> String {
    try client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return client.receive(until: "fine")
  }

  private func leafPin(_ client: LoopbackClient) throws -> SPKIHash? {
    try PeerCertificate(der: #require(client.peerChain.first))?.pin
  }

  @Test("A certificate is replaced for new connections, and old ones continue")
  func replacement() throws {
    let server = try server(LoopbackTLS(identity))
    let before = try LoopbackClient(to: server.endpoint, trusting: root.rootPEM)
    #expect(try get(before).hasSuffix("fine"))
    let renewed = try root.issue(hosts: ["localhost"])
    try server.replaceTLS(LoopbackTLS(renewed))
    let after = try LoopbackClient(to: server.endpoint, trusting: root.rootPEM)
    #expect(try get(after).hasSuffix("fine"))
    #expect(try get(before).hasSuffix("fine"))
    #expect(try leafPin(before) == identity.pin)
    #expect(try leafPin(after) == renewed.pin)
    #expect(throws: LoopbackError.self) {
      try server.replaceTLS(LoopbackTLS(MintedCertificate(certificatePEM: "no", privateKeyPEM: "no")))
    }
    #expect(try leafPin(LoopbackClient(to: server.endpoint, trusting: root.rootPEM)) == renewed.pin)
    #expect(server.requests.count == 3)
    let plain = try LoopbackServer { _ in }
    #expect(throws: LoopbackError.self) { try plain.replaceTLS(LoopbackTLS(renewed)) }
  }

  @Test("Full and resumed handshakes are counted", arguments: [TLSOptions.Version.v1_2, .v1_3], [true, false])
  func resumption(_ version: TLSOptions.Version, allows: Bool) throws {
    var tls = LoopbackTLS(identity)
    tls.maximumVersion = version
    tls.allowsResumption = allows
    let server = try server(tls)
    let first = try LoopbackClient(to: server.endpoint, trusting: root.rootPEM)
    _ = try get(first)
    let session = try #require(first.session)
    let second = try LoopbackClient(to: server.endpoint, trusting: root.rootPEM, resuming: session)
    _ = try get(second)
    #expect(second.isResumed == allows)
    #expect(server.fullHandshakes == (allows ? 1 : 2))
    #expect(server.resumedHandshakes == (allows ? 1 : 0))
    #expect(server.acceptedConnections == 2)
  }

  @Test(
    "Whether a session outlives the certificate is configurable", arguments: [TLSOptions.Version.v1_2, .v1_3],
    [true, false])
  func keptSessions(_ version: TLSOptions.Version, keeps: Bool) throws {
    var tls = LoopbackTLS(identity)
    tls.maximumVersion = version
    let server = try server(tls)
    let first = try LoopbackClient(to: server.endpoint, trusting: root.rootPEM)
    _ = try get(first)
    let session = try #require(first.session)
    tls.identity = try root.issue(hosts: ["localhost"])
    try server.replaceTLS(tls, keepingSessions: keeps)
    let second = try LoopbackClient(to: server.endpoint, trusting: root.rootPEM, resuming: session)
    _ = try get(second)
    #expect(second.isResumed == keeps)
    #expect(server.resumedHandshakes == (keeps ? 1 : 0))
  }

  @Test("One server serves several hosts")
  func names() throws {
    let other = try root.issue(hosts: ["other.example"], keyType: .rsa2048)
    var tls = LoopbackTLS(identity)
    tls.identitiesByName = ["Other.example": other, "third.example": try root.issue(hosts: ["third.example"])]
    let server = try server(tls)
    for (host, expected) in [("localhost", identity), ("other.example", other), ("OTHER.example", other)] {
      let client = try LoopbackClient(to: server.endpoint, host: host, trusting: root.rootPEM)
      #expect(try leafPin(client) == expected.pin)
    }
    _ = try LoopbackClient(to: server.endpoint, host: "third.example", trusting: root.rootPEM)
    #expect(throws: LoopbackError.self) {
      try LoopbackClient(to: server.endpoint, host: "fourth.example", trusting: root.rootPEM)
    }
    tls.identitiesByName = ["x": MintedCertificate(certificatePEM: other.certificatePEM, privateKeyPEM: "no")]
    #expect(throws: LoopbackError.self) { try self.server(tls) }
  }

  @Test("Exactly the given chain is sent")
  func chain() throws {
    let lower = try root.intermediate()
    let leaf = try lower.issue(hosts: ["localhost"])
    let stranger = try CertificateAuthority(commonName: "Stranger")
    var tls = LoopbackTLS(leaf.adding(stranger.identity, root.identity))
    let server = try server(tls)
    let client = try LoopbackClient(to: server.endpoint, trusting: root.rootPEM)
    let expected = [leaf, lower.identity, stranger.identity, root.identity]
    let pins = client.peerChain.map { PeerCertificate(der: $0)?.pin }
    #expect(try pins == expected.map { minted throws(LoopbackError) in try minted.pin })
    // The missing intermediate is not sent even if the server knows it as an authority of client certificates.
    tls = LoopbackTLS(leaf.withoutIntermediates)
    tls.clientAuthoritiesPEM = lower.certificatePEM + root.rootPEM
    try server.replaceTLS(tls)
    #expect(throws: LoopbackError.self) { try LoopbackClient(to: server.endpoint, trusting: root.rootPEM) }
  }

  @Test("A response is stapled for clients that request it", arguments: [TLSOptions.Version.v1_2, .v1_3])
  func staple(_ version: TLSOptions.Version) throws {
    var tls = LoopbackTLS(identity)
    tls.maximumVersion = version
    tls.ocspResponse = try root.ocspResponse(for: identity)
    let server = try server(tls)
    let curious = try LoopbackClient(to: server.endpoint, trusting: root.rootPEM, asksStaple: true)
    #expect(curious.staple == tls.ocspResponse)
    #expect(try get(curious).hasSuffix("fine"))
    let other = try LoopbackClient(to: server.endpoint, trusting: root.rootPEM)
    #expect(other.staple == [])
  }

  @Test("Received bytes count application data only")
  func receivedBytes() async throws {
    let server = try server(LoopbackTLS(identity))
    do { _ = try LoopbackClient(to: server.endpoint, trusting: root.rootPEM) }
    #expect(await eventually { server.openConnections == 0 && server.acceptedConnections >= 1 })
    #expect(server.establishedConnections == 1)
    #expect(server.receivedBytes == 0)
    let client = try LoopbackClient(to: server.endpoint, trusting: root.rootPEM)
    try client.send("GE")
    #expect(await eventually { server.receivedBytes == 2 })
    #expect(server.requests.isEmpty)
    let faulty = try self.server(LoopbackTLS(identity, handshakeFault: .closeInHandshake))
    #expect(throws: LoopbackError.self) { try LoopbackClient(to: faulty.endpoint, trusting: root.rootPEM) }
    faulty.stop()
    #expect(faulty.receivedBytes == 0)
  }

  @Test("A tunnel leads to this machine and records the targets", arguments: [false, true])
  func tunnel(isTLS: Bool) throws {
    let upstream = try LoopbackServer.http { _ in .text("fine") }
    let proxy = try LoopbackServer.tunnel(tls: isTLS ? LoopbackTLS(identity) : nil) { request in
      request.target.hasPrefix("refused.example:") ? .text("no", status: 403) : nil
    }
    func ask(_ line: String) throws -> LoopbackClient {
      let client =
        isTLS
        ? try LoopbackClient(to: proxy.endpoint, trusting: root.rootPEM) : try LoopbackClient(to: proxy.endpoint)
      try client.send("\(line) HTTP/1.1\r\n\r\n")
      return client
    }
    let client = try ask("CONNECT any.example:\(upstream.port)")
    #expect(client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
    for _ in 0..<2 { #expect(try get(client).hasSuffix("fine")) }
    #expect(try ask("CONNECT refused.example:1").receiveAll().text.hasPrefix("HTTP/1.1 403 "))
    #expect(try ask("GET http://x/").receiveAll().text.hasPrefix("HTTP/1.1 405 "))
    #expect(try ask("CONNECT any.example:+\(upstream.port)").receiveAll().text.hasPrefix("HTTP/1.1 405 "))
    upstream.stop()
    #expect(client.receiveAll().text == "")
    #expect(try ask("CONNECT any.example:\(Loopback.freePort())").receiveAll().text.hasPrefix("HTTP/1.1 502 "))
    #expect(proxy.requests.map(\.method) == ["CONNECT", "CONNECT", "GET", "CONNECT", "CONNECT"])
    #expect(proxy.requests.first?.target == "any.example:\(upstream.port)")
    proxy.stop()
    #expect(proxy.errors.isEmpty)
  }
}
