// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroSupport
import LastroTesting
import LastroTunnels
import PeerSupport
import TestSupport
import Testing

/// Servers that are accepted by a SPIFFE ID in place of their host name. The bytes that reach a server decide.
@Suite("Trust: SPIFFE IDs", .timeLimit(.minutes(15)))
struct SPIFFETests {
  static let ordersID = "spiffe://example.org/orders"
  static let billingID = "spiffe://example.org/billing"

  /// A certificate of a server, and the outcome of a request that requires ``ordersID``.
  enum Certificate: String, CaseIterable, Sendable {
    case right, besideHostNames, below
    case otherID, otherTrustDomain, longerPath, twoURIs, noURI, trustDomain, upperCase, withNUL, otherScheme
    case authority, authorityByFlag, mayCertify, noKeyUsage
    case otherBundle, expired, early, forClients

    var expected: String {
      switch self {
      case .right, .besideHostNames, .below: "spiffe"
      case .otherBundle, .forClients: "tls/untrusted_certificate"
      case .expired, .early: "tls/certificate_expired"
      default: "trust/spiffe_id_mismatch"
      }
    }

    func mint(_ issuer: CertificateAuthority) throws -> MintedCertificate {
      switch self {
      case .right: try issuer.svid(ordersID)
      case .besideHostNames: try issuer.svid("DNS:elsewhere.test", ordersID)
      case .below: try issuer.intermediate().svid(ordersID)
      case .otherID: try issuer.svid(billingID)
      case .otherTrustDomain: try issuer.svid("spiffe://example.com/orders")
      case .longerPath: try issuer.svid(ordersID + "/x")
      case .twoURIs: try issuer.svid(ordersID, billingID)
      case .noURI: try issuer.issue(hosts: ["localhost"])
      case .trustDomain: try issuer.svid("spiffe://example.org", "DNS:localhost")
      case .upperCase: try issuer.svid("spiffe://EXAMPLE.org/orders")
      case .withNUL: try issuer.svid("") { $0.alternativeNames = ordersID.asExtension(adding: [0]) }
      case .otherScheme: try issuer.svid("https://example.org/orders")
      case .authority:
        try issuer.svid(ordersID) {
          $0.basicConstraints = "critical,CA:TRUE"
          $0.keyUsage = "critical,digitalSignature,keyCertSign"
        }
      case .authorityByFlag: try issuer.svid(ordersID) { $0.basicConstraints = "critical,CA:TRUE" }
      case .mayCertify: try issuer.svid(ordersID) { $0.keyUsage = "critical,digitalSignature,cRLSign" }
      case .noKeyUsage: try issuer.svid(ordersID) { $0.keyUsage = "" }
      case .otherBundle: try CertificateAuthority().svid(ordersID)
      case .expired: try issuer.svid(ordersID, validity: .expired)
      case .early: try issuer.svid(ordersID, validity: .notYetValid)
      case .forClients: try issuer.svid(ordersID) { $0.usages = [.client] }
      }
    }
  }

  private let lab: TestAuthority
  private let orders: TLSOptions.Peer
  private let other: TLSOptions.Peer
  private let anyMember: TLSOptions.Peer

  init() throws {
    lab = try TestAuthority()
    orders = .ids(Self.ordersID)
    other = .ids(Self.billingID)
    anyMember = .spiffeTrustDomain(of: try SPIFFEID("spiffe://example.org/any"))
  }

  private func server(
    _ identity: MintedCertificate? = nil, closes: Bool = false, http2: Bool = false
  ) throws -> LoopbackServer {
    var tls = LoopbackTLS(try identity ?? lab.authority.svid(Self.ordersID, "DNS:localhost"))
    let answer: @Sendable (LoopbackRequest) throws -> LoopbackResponse = { _ in
      closes ? LoopbackResponse.text("answer").adding("Connection", "close") : .text("answer")
    }
    if http2 { tls.applicationProtocols = ["h2"] }
    return http2 ? try .http2(tls: tls, respond: answer) : try .http(tls: tls, respond: answer)
  }

  private func options(_ peer: TLSOptions.Peer, _ judge: (any ServerTrustJudge)? = nil) -> ConnectionOptions {
    PathClient.options(lab, judge, peer)
  }

  // MARK: Certificates

  @Test(
    "A server is accepted exactly if its SVID has the required ID and leads to the bundle",
    arguments: Certificate.allCases, TrustPath.allCases)
  func certificates(_ certificate: Certificate, _ path: TrustPath) async throws {
    let server = try server(certificate.mint(lab.authority))
    let standing = try PathClient(path, lab, peer: orders)
    let own = try PathClient(path, lab)
    #expect(await standing.send(to: server) == certificate.expected)
    #expect(await own.send(to: server, options: options(orders)) == certificate.expected)
    if certificate.expected != "spiffe" { #expect(server.receivedBytes == 0 && server.requests.isEmpty) }
  }

  @Test(
    "One of several IDs, or any ID of a trust domain, suffices if the options say so", arguments: TrustPath.allCases)
  func several(_ path: TrustPath) async throws {
    let both = TLSOptions.Peer.ids(Self.ordersID, Self.billingID)
    let client = try PathClient(path, lab)
    for id in [Self.ordersID, Self.billingID] {
      let server = try server(lab.authority.svid(id))
      #expect(await client.send(to: server, options: options(both)) == "spiffe")
      #expect(await client.send(to: server, options: options(anyMember)) == "spiffe")
    }
    let third = try server(lab.authority.svid("spiffe://example.org/third"))
    #expect(await client.send(to: third, options: options(both)) == "trust/spiffe_id_mismatch")
    #expect(await client.send(to: third, options: options(anyMember)) == "spiffe")
    for id in ["spiffe://example.org.evil.test/orders", "spiffe://sub.example.org/orders", "spiffe://example.org"] {
      let foreign = try server(lab.authority.svid(id))
      #expect(await client.send(to: foreign, options: options(anyMember)) == "trust/spiffe_id_mismatch")
      #expect(foreign.receivedBytes == 0)
    }
  }

  @Test("The error names the required ID and the one that the server shows, in ledger and trust failure")
  func text() async throws {
    let server = try server(lab.authority.svid(Self.billingID))
    let stack = try lab.stack(nil) { $0.connection.tls.peer = orders }
    let error = try await failure { try await stack.send(.get, server.baseURL) }
    #expect(error.stage == .trust && error.code == .spiffeIDMismatch && error.attempts.map(\.requestSent) == [false])
    #expect(
      error.message
        == "localhost:\(server.port) was refused: it shows \(Self.billingID), and \(Self.ordersID) is required")
    #expect(error.hint?.isEmpty == false && error.ledger.json().contains("it shows \(Self.billingID)"))
    let leaf = try #require(error.trustFailure?.trust.chain.first)
    #expect(try leaf.spiffeID == SPIFFEID(Self.billingID))
    let page = await stack.explain(RawHTTPResource.raw(try ResourceRequest(url: server.baseURL))).description
    #expect(page.contains("and SPIFFE ID;") && page.contains("the certificate must prove \(Self.ordersID)"))
  }

  // MARK: Other rules

  @Test("Plain http is refused if an ID is required, and no connection is opened", arguments: TrustPath.allCases)
  func plaintext(_ path: TrustPath) async throws {
    let server = try LoopbackServer.http { _ in .text("answer") }
    let standing = try PathClient(path, lab, peer: orders), own = try PathClient(path, lab)
    #expect(await standing.send(to: server) == "trust/plaintext_refused")
    #expect(await own.send(to: server, options: options(anyMember)) == "trust/plaintext_refused")
    #expect(server.acceptedConnections == 0)
  }

  @Test(
    "Pins apply in addition, and judges are asked only about servers with a required ID", arguments: TrustPath.allCases)
  func pins(_ path: TrustPath) async throws {
    let identity = try lab.authority.svid(Self.ordersID)
    let server = try server(identity)
    let right = try TestAuthority.evaluator(TestAuthority.policy("localhost", TestAuthority.pin(identity)))
    let wrong = try TestAuthority.evaluator(TestAuthority.policy("localhost", TestAuthority.absentPin))
    #expect(try await PathClient(path, lab, judge: wrong, peer: orders).send(to: server) == "trust/pin_mismatch")
    let client = try PathClient(path, lab, judge: right, peer: orders)
    #expect(await client.send(to: server) == "pinned")
    right.configuration = wrong.configuration
    #expect(await client.send(to: server) == "trust/pin_mismatch")
    #expect(server.requests.count == 1)

    let judge = ScriptedJudge(accepts: { _ in true })
    let asking = try PathClient(path, lab, judge: judge, peer: orders)
    #expect(await asking.send(to: try self.server(lab.authority.svid(Self.billingID))) == "trust/spiffe_id_mismatch")
    #expect(judge.asked.isEmpty)
    #expect(await asking.send(to: server) == "spiffe")
    #expect(judge.asked.count == 1)
  }

  @Test("A judge that decides alone cannot be combined with a required ID, except for proxies")
  func soleJudge() async throws {
    let engine = try TestAuthority.engine { $0.connection = options(orders) }
    for dialer in [engine, TLSDialer(over: lab.base, connection: options(orders))] as [any Dialer] {
      let server = try LoopbackServer(tls: lab.tls("localhost")) { try $0.echo() }
      let judge = ScriptedJudge(accepts: { _ in true })
      var request = server.request(tls: .init(soleJudge: judge))
      #expect(await words { try await dialer.dial(request) } == "request/unsupported")
      request.host = "127.0.0.1"
      #expect(await words { try await dialer.dial(request) } == "request/unsupported")
      #expect(judge.asked.isEmpty && server.establishedConnections == 0)
      request.role = .proxy
      try await dialer.dial(request).expectEcho()
      #expect(judge.asked.count == 1)
    }
  }

  // MARK: Connections

  @Test("A connection serves no request that requires another name of its server", arguments: [false, true])
  func reuse(isHTTP2: Bool) async throws {
    for path in TrustPath.allCases where path.links != nil {
      let server = try server(http2: isHTTP2)
      let client = try PathClient(path, lab)
      for _ in 0..<2 { #expect(await client.send(to: server, options: options(orders)) == "spiffe") }
      #expect(server.establishedConnections == 1)
      for _ in 0..<2 { #expect(await client.send(to: server, options: options(.hostName)) == "validated") }
      #expect(server.establishedConnections == 2)
      for _ in 0..<2 { #expect(await client.send(to: server, options: options(anyMember)) == "spiffe") }
      #expect(server.establishedConnections == 3)
      for _ in 0..<2 { #expect(await client.send(to: server, options: options(other)) == "trust/spiffe_id_mismatch") }
      // The first connections are still open.
      for peer in [orders, .hostName, anyMember] {
        #expect(await client.send(to: server, options: options(peer)).contains("/") == false)
      }
      #expect(server.requests.count == 9, "\(path)")
    }
  }

  @Test("A session that was established by host name is not resumed for an ID, and none is for another ID")
  func sessions() async throws {
    for path in TrustPath.allCases {
      let server = try server(closes: true)
      let client = try PathClient(path, lab)
      for _ in 0..<3 { #expect(await client.send(to: server, options: options(.hostName)) == "validated") }
      let resumed = server.resumedHandshakes
      for _ in 0..<3 { #expect(await client.send(to: server, options: options(orders)) == "spiffe") }
      #expect(await client.send(to: server, options: options(other)) == "trust/spiffe_id_mismatch")
      #expect(server.resumedHandshakes == resumed && server.requests.count == 6, "\(path)")
    }
  }

  @Test("A server that changes to another ID is refused on the next connection")
  func swapped() async throws {
    for path in TrustPath.allCases {
      let server = try server(closes: true)
      let client = try PathClient(path, lab, peer: orders)
      #expect(await client.send(to: server) == "spiffe")
      try server.replaceTLS(LoopbackTLS(lab.authority.svid(Self.billingID)))
      #expect(await client.send(to: server) == "trust/spiffe_id_mismatch")
      #expect(server.requests.count == 1, "\(path)")
    }
  }

  // MARK: Proxies

  @Test("Behind a proxy of any kind the server is accepted by its ID, and refused by another one")
  func proxies() async throws {
    let plain = try LoopbackServer.tunnel(), secure = try LoopbackServer.tunnel(tls: lab.tls("localhost"))
    let socks = try LoopbackServer.socks5()
    for proxy in [
      "http://127.0.0.1:\(plain.port)", "https://localhost:\(secure.port)", "socks5h://127.0.0.1:\(socks.port)",
    ] {
      let server = try server()
      let stack = try lab.stack(nil) { $0.connection.proxy = .url(proxy) }
      func words(_ peer: TLSOptions.Peer) async -> String {
        var own = RequestOptions()
        own.connection = lab.options {
          $0.tls.peer = peer
          $0.proxy = .url(proxy)
        }
        do throws(RawFailure) {
          return try await stack.send(.get, server.baseURL, options: own).response.facts.trust?.rawValue ?? "nothing"
        } catch { return error.words }
      }
      #expect(await words(orders) == "spiffe", "\(proxy)")
      #expect(await words(other) == "trust/spiffe_id_mismatch", "\(proxy)")
      #expect(server.requests.count == 1)
    }
    #expect(plain.acceptedConnections == 2 && secure.acceptedConnections == 2 && socks.acceptedConnections == 2)
  }

  @Test("An https proxy proves its host name, and not the ID of the server")
  func namedProxy() async throws {
    let server = try server()
    for (identity, expected) in [
      (try lab.authority.svid(Self.ordersID), "proxy/host_mismatch"), (try lab.identity("localhost"), "no error"),
    ] {
      let proxy = try LoopbackServer.tunnel(tls: LoopbackTLS(identity))
      let stack = try lab.stack(nil) {
        $0.connection.tls.peer = orders
        $0.connection.proxy = .url("https://localhost:\(proxy.port)")
      }
      let outcome: String
      do throws(RawFailure) {
        _ = try await stack.send(.get, server.baseURL)
        outcome = "no error"
      } catch { outcome = error.words }
      #expect(outcome == expected)
    }
    // The same holds for a proxy that a stream is dialed to.
    let workload = try self.server(lab.authority.svid(Self.ordersID)),
      named = try self.server(lab.identity("localhost"))
    for dialer in [
      try TestAuthority.engine { $0.connection = options(orders) },
      TLSDialer(over: lab.base, connection: options(orders)),
    ] as [any Dialer] {
      #expect(await words { try await dialer.dial(workload.request(role: .proxy)) } == "proxy/host_mismatch")
      let stream = try await dialer.dial(named.request(role: .proxy))
      #expect(stream.facts.trust == .validated)
      stream.close()
    }
  }

  @Test(
    "Through tunnels the server is accepted by its ID, and refused by another one", arguments: ["socks5", "connect"])
  func tunnels(_ kind: String) async throws {
    let proxy = kind == "socks5" ? try LoopbackServer.socks5() : try .tunnel()
    let tunnel =
      kind == "socks5"
      ? try Tunnel.socks5(host: "127.0.0.1", port: proxy.port, over: lab.base)
      : try Tunnel.httpConnect(host: "127.0.0.1", port: proxy.port, over: lab.base)
    let names = Lock([String?]())
    let server = try LoopbackServer(tls: LoopbackTLS(lab.authority.svid(Self.ordersID))) { connection in
      names.withLock { $0.append(connection.serverName) }
      try connection.echo()
    }
    let engine = try TestAuthority.engine { $0.connection = options(orders) }
    for dialer in [tunnel.addingTLS(connection: options(orders)), engine] as [any Dialer] {
      let stream = try await dialer.dial(server.request())
      #expect(stream.facts.trust == .spiffe)
      #expect(try stream.facts.tls?.presentedChain.first?.spiffeID == SPIFFEID(Self.ordersID))
      try await stream.expectEcho()
      let received = server.receivedBytes
      let wrong = server.request(connection: options(other))
      #expect(await words { try await dialer.dial(wrong) } == "trust/spiffe_id_mismatch")
      #expect(server.receivedBytes == received)
    }
    #expect(names.withLock { $0 } == ["localhost", "localhost"], "the host name is sent although it is not checked")
  }

  // MARK: Files

  @Test("A replaced bundle and a replaced SVID of the client are used by the next request", arguments: [false, true])
  func rotation(overStream: Bool) async throws {
    let directory = try PeerDirectory()
    func write(_ identity: MintedCertificate, bundle: [CertificateAuthority]) throws {
      try directory.write(identity.chainPEM, to: "svid.pem")
      try directory.write(identity.privateKeyPEM, to: "svid_key.pem")
      try directory.write(bundle.map(\.rootPEM).joined(), to: "bundle.pem")
    }
    let (old, new) = (lab.authority, try CertificateAuthority(commonName: "New root"))
    let client = "spiffe://example.org/web"
    let names = Lock([String?]())
    var tls = LoopbackTLS(try old.svid(Self.ordersID))
    tls.clientAuthoritiesPEM = old.rootPEM + new.rootPEM
    let server = try LoopbackServer(tls: tls) { connection in
      names.withLock { $0.append(connection.clientName) }
      try connection.serveHTTP { _ in .text("answer") }
    }
    try write(old.svid(client), bundle: [old])
    let options = lab.options {
      $0.tls.peer = orders
      $0.tls.roots = .file(directory.file("bundle.pem"))
      $0.tls.identity = .init(
        certificate: .file(directory.file("svid.pem")), key: .file(directory.file("svid_key.pem")))
    }
    let kind: LinkKind = overStream ? .tlsStream : .socket
    let stack = try kind.stack { $0.connection = options }
    func fetch() async throws -> TrustVerdict? { try await stack.send(.get, server.baseURL).response.facts.trust }
    #expect(try await fetch() == .spiffe)
    // The bundle of the next authority comes first, then its certificates.
    try write(try old.svid(client), bundle: [old, new])
    try await Task.sleep(for: .milliseconds(1_100))
    #expect(try await fetch() == .spiffe)
    tls.identity = try new.svid(Self.ordersID)
    try server.replaceTLS(tls)
    try write(new.svid(client), bundle: [new])
    try await Task.sleep(for: .milliseconds(1_100))
    #expect(try await fetch() == .spiffe)
    #expect(names.withLock { $0.count } == 3)
    // The old authority is no longer in the bundle.
    tls.identity = try old.svid(Self.ordersID)
    try server.replaceTLS(tls)
    try write(new.svid(client), bundle: [new, try CertificateAuthority()])
    try await Task.sleep(for: .milliseconds(1_100))
    #expect(try await failure { try await fetch() }.words == "tls/untrusted_certificate")
  }

  // MARK: Peers

  @Test("nginx with an SVID is accepted by its ID, over sockets and streams")
  func nginx() async throws {
    let svids = [try lab.authority.svid(Self.ordersID), try lab.authority.svid(Self.billingID)]
    let nginx = try await NginxPeer.start(
      sites: svids.map { .init(chainPEM: $0.chainPEM, privateKeyPEM: $0.privateKeyPEM) })
    defer { nginx.stop() }
    for kind in LinkKind.allCases {
      let stack = try kind.stack { $0.connection = options(orders) }
      func url(_ site: Int) -> String { "https://127.0.0.1:\(nginx.ports.sites[site])/json" }
      #expect(try await stack.send(.get, url(0)).response.facts.trust == .spiffe, "\(kind)")
      #expect(try await failure { try await stack.send(.get, url(1)) }.words == "trust/spiffe_id_mismatch", "\(kind)")
    }
  }
}

extension String {
  /// Returns the extension with this text and further bytes as its only URI, as DER in OpenSSL's notation.
  fileprivate func asExtension(adding bytes: [UInt8]) -> String {
    let uri = Array(utf8) + bytes
    let name = [0x86, UInt8(uri.count)] + uri
    let names = [0x30, UInt8(name.count)] + name
    return "DER:" + names.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
