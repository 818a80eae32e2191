// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Dispatch
import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroHTTP
import LastroTesting
import PeerSupport
import TestSupport
import Testing

/// Client certificates that change while a stack is in use.
@Suite("Trust: renewed client certificates", .timeLimit(.minutes(15)))
struct RenewedIdentityTests {
  /// The component that presents the client certificate, and the path to the server.
  enum Way: String, CaseIterable, Sendable { case engine, http2, httpProxy, httpsProxy, curlDialer, tlsDialer }

  /// The place from which the certificate comes.
  enum Source: String, CaseIterable, Sendable {
    case files
    /// A ``RotatingIdentity``.
    case application
  }

  struct Case: Sendable, CustomTestStringConvertible {
    var way: Way
    var source: Source
    var version: TLSOptions.Version
    /// Whether the server keeps connections open.
    var keeps: Bool
    var testDescription: String { "\(way), \(source), \(version), \(keeps ? "pooled" : "fresh") connections" }

    static let all: [Self] = Way.allCases.flatMap { way in
      Source.allCases.flatMap { source in
        [TLSOptions.Version.v1_2, .v1_3].flatMap { version in
          (way == .http2 ? [true] : [false, true]).map { Self(way: way, source: source, version: version, keeps: $0) }
        }
      }
    }
  }

  private let lab: TestAuthority
  private let directory: PeerDirectory
  private let rotating = RotatingIdentity(TLSOptions.Identity(certificate: .bytes([])))

  init() throws {
    lab = try TestAuthority()
    directory = try PeerDirectory()
  }

  /// Returns a server that answers with the name in the client's certificate.
  private func server(
    _ version: TLSOptions.Version = .v1_3, keeps: Bool = true, http2: Bool = false
  ) throws -> LoopbackServer {
    var tls = try lab.tls()
    tls.clientAuthoritiesPEM = lab.authority.rootPEM
    (tls.minimumVersion, tls.maximumVersion) = (version, version)
    if http2 { tls.applicationProtocols = ["h2"] }
    return try LoopbackServer(tls: tls) { connection in
      let name = connection.clientName ?? "nobody"
      if http2 { return try LoopbackHTTP2Connection(connection).serve { _ in .text(name) } }
      try connection.serveHTTP { _ in
        keeps ? .text(name) : LoopbackResponse.text(name).adding("Connection", "close")
      }
    }
  }

  private func issue(_ name: String) throws -> MintedCertificate {
    try lab.authority.issue(hosts: [], commonName: name)
  }

  private func write(_ certificate: MintedCertificate) throws {
    try directory.write(certificate.chainPEM, to: "client.pem")
    try directory.write(certificate.privateKeyPEM, to: "client.key")
  }

  /// Supplies a certificate from a source, and waits until files are checked again.
  private func renew(_ name: String, _ source: Source) async throws {
    let certificate = try issue(name)
    switch source {
    case .files:
      try write(certificate)
      try await lookAgain()
    case .application: rotating.replace(with: .pem(certificate))
    }
  }

  private func identity(_ source: Source) -> TLSOptions.Identity {
    switch source {
    case .files: .init(certificate: .file(directory.file("client.pem")), key: .file(directory.file("client.key")))
    case .application: .init(rotating)
    }
  }

  private func transport(_ way: Way, _ source: Source = .files, proxy: LoopbackServer? = nil) throws -> any Transport {
    let options = lab.options {
      $0.tls.identity = identity(source)
      if let proxy { $0.proxy = .url(proxy.baseURL) }
    }
    let engine = try CurlTransport.with { $0.connection = options }
    switch way {
    case .engine, .http2, .httpProxy, .httpsProxy: return engine
    case .curlDialer: return try DialerTransport(over: engine)
    case .tlsDialer: return try DialerTransport(over: TLSDialer(over: lab.base, connection: options))
    }
  }

  private func proxy(_ way: Way) throws -> LoopbackServer? {
    switch way {
    case .httpProxy: try .tunnel()
    case .httpsProxy: try .tunnel(tls: lab.tls())
    default: nil
    }
  }

  /// Waits until files are checked again; that happens once a second at most.
  private func lookAgain() async throws { try await Task.sleep(for: .milliseconds(1_100)) }

  @Test("A renewed certificate is presented from the next request on", arguments: Case.all)
  func renewed(_ test: Case) async throws {
    let server = try server(test.version, keeps: test.keeps, http2: test.way == .http2)
    try await renew("old", test.source)
    let proxy = try proxy(test.way)
    let transport = try transport(test.way, test.source, proxy: proxy)
    for _ in 0..<2 { #expect(try await transport.text(server) == "old") }
    try await renew("new", test.source)
    for _ in 0..<2 { #expect(try await transport.text(server) == "new") }
    #expect(server.acceptedConnections == (test.keeps ? 2 : 4))
    #expect(proxy.map { $0.acceptedConnections == server.acceptedConnections } ?? true)
  }

  @Test("A request whose options have other bytes uses another connection, and no session of the first ones")
  func otherBytes() async throws {
    let certificates = try ["old", "new"].map { (name: $0, identity: TLSOptions.Identity.pem(try issue($0))) }
    for keeps in [true, false] {
      let server = try server(keeps: keeps)
      let engine = try CurlTransport.with { $0.connection = lab.options() }
      for (name, identity) in certificates + certificates {
        let options = lab.options { $0.tls.identity = identity }
        #expect(try await engine.text(server, options) == name)
      }
      #expect(server.acceptedConnections == (keeps ? 2 : 4))
    }
  }

  @Test("A rotating identity is replaced for one host alone")
  func oneHost() async throws {
    let server = try server()
    rotating.replace(with: .pem(try issue("old")))
    let other = TLSOptions.Identity.pem(try issue("other"))
    let engine = try CurlTransport.with {
      $0.connection = lab.options {
        $0.tls.identity = other
        $0.tls.hostIdentities["localhost"] = .init(rotating)
      }
    }
    #expect(try await engine.text(server) == "old")
    rotating.replace(with: .pem(try issue("new")))
    #expect(try await engine.text(server) == "new")
    #expect(server.acceptedConnections == 2)
  }

  @Test("A rotating identity that becomes unusable keeps the previous certificate in use, until a usable one follows")
  func unusable() async throws {
    let server = try server()
    rotating.replace(with: .pem(try issue("old")))
    let engine = try transport(.engine, .application)
    #expect(try await engine.text(server) == "old")
    let strange = try issue("strange")
    for broken in [
      TLSOptions.Identity(certificate: .bytes([]), key: .bytes([])),
      .init(certificate: .bytes(Array("no PEM".utf8))), .init(certificate: .file("/nowhere")),
      .init(certificate: .bytes(Array(strange.chainPEM.utf8)), key: .bytes(Array(try issue("x").privateKeyPEM.utf8))),
    ] {
      rotating.replace(with: broken)
      for _ in 0..<2 { #expect(try await engine.text(server) == "old") }
    }
    #expect(server.acceptedConnections == 1)
    rotating.replace(with: .pem(try issue("new")))
    #expect(try await engine.text(server) == "new")
  }

  @Test("An unusable replacement is ignored by other options and new stacks too, until a usable one follows")
  func unusableElsewhere() async throws {
    let server = try server()
    rotating.replace(with: .pem(try issue("old")))
    let engine = try transport(.engine, .application)
    #expect(try await engine.text(server) == "old")
    rotating.replace(with: .init(certificate: .bytes(Array("no PEM".utf8))))
    let other = lab.options {
      $0.tls.identity = identity(.application)
      $0.tls.maximumVersion = .v1_3
    }
    let transports = try [engine] + [Way.engine, .curlDialer, .tlsDialer].map { try transport($0, .application) }
    #expect(try await engine.text(server, other) == "old")
    for transport in transports { #expect(try await transport.text(server) == "old") }
    rotating.replace(with: .pem(try issue("new")))
    #expect(try await engine.text(server, other) == "new")
    for transport in transports { #expect(try await transport.text(server) == "new") }
  }

  @Test("A rotating identity whose first certificate is unusable fails requests until it is replaced")
  func unusableFirst() async throws {
    let server = try server()
    rotating.replace(with: .init(certificate: .bytes(Array("no PEM".utf8))))
    for way in [Way.engine, .curlDialer, .tlsDialer] {
      let transport = try transport(way, .application)
      await #expect(throws: TransportError.self) { try await transport.text(server) }
    }
    rotating.replace(with: .pem(try issue("usable")))
    #expect(try await transport(.engine, .application).text(server) == "usable")
  }

  @Test("A pair that does not match stays unused when the trusted roots change at the same time")
  func rootsAndHalf() async throws {
    let server = try server()
    try write(issue("old"))
    try directory.write(lab.authority.rootPEM, to: "roots.pem")
    let engine = try CurlTransport.with {
      $0.connection = lab.options {
        $0.tls.roots = .file(directory.file("roots.pem"))
        $0.tls.identity = identity(.files)
      }
    }
    #expect(try await engine.text(server) == "old")
    let new = try issue("new")
    try directory.write(new.privateKeyPEM, to: "client.key")
    try directory.write(lab.authority.rootPEM + CertificateAuthority().rootPEM, to: "roots.pem")
    try await lookAgain()
    #expect(try await engine.text(server) == "old")
    #expect(server.acceptedConnections == 2)
    try directory.write(new.chainPEM, to: "client.pem")
    try await lookAgain()
    #expect(try await engine.text(server) == "new")
  }

  @Test("A rotating identity that is replaced by an equal one keeps its connections")
  func equal() async throws {
    let server = try server()
    let certificate = try issue("old")
    for way in [Way.engine, .curlDialer] {
      let before = server.acceptedConnections
      rotating.replace(with: .pem(certificate))
      let transport = try transport(way, .application)
      for _ in 0..<3 {
        #expect(try await transport.text(server) == "old")
        rotating.replace(with: .pem(certificate))
      }
      #expect(server.acceptedConnections == before + 1)
    }
  }

  @Test("A rotating identity may change from bytes to files, whose later changes are noticed")
  func bytesToFiles() async throws {
    let server = try server()
    rotating.replace(with: .pem(try issue("bytes")))
    let engine = try transport(.engine, .application)
    #expect(try await engine.text(server) == "bytes")
    try write(issue("file"))
    rotating.replace(with: identity(.files))
    #expect(try await engine.text(server) == "file")
    try write(issue("changed"))
    try await lookAgain()
    #expect(try await engine.text(server) == "changed")
  }

  @Test("Files that a rotating identity names before they exist are used once they do")
  func filesToCome() async throws {
    let server = try server()
    rotating.replace(with: .pem(try issue("bytes")))
    let engine = try transport(.engine, .application)
    #expect(try await engine.text(server) == "bytes")
    rotating.replace(with: identity(.files))
    #expect(try await engine.text(server) == "bytes")
    try write(issue("file"))
    try await lookAgain()
    #expect(try await engine.text(server) == "file")
  }

  @Test(
    "While certificate and key do not match, the pair that was read before stays in use",
    arguments: [Way.engine, .curlDialer, .tlsDialer])
  func halfRenewed(_ way: Way) async throws {
    let server = try server()
    let new = try issue("new")
    try write(issue("old"))
    let transport = try transport(way)
    #expect(try await transport.text(server) == "old")
    try directory.write(new.privateKeyPEM, to: "client.key")
    try await lookAgain()
    #expect(try await transport.text(server) == "old")
    try directory.write(new.chainPEM, to: "client.pem")
    try await lookAgain()
    #expect(try await transport.text(server) == "new")
  }

  @Test("A request that begins after a replacement uses no connection that is being dialed with the old certificate")
  func replacedDuringDial() async throws {
    let server = try server()
    rotating.replace(with: .pem(try issue("old")))
    let gate = DispatchSemaphore(value: 0)
    defer { gate.signal() }
    // The dial has begun when the proxy reads its request.
    let proxy = try LoopbackServer.tunnel { request in
      if request.connection == 1 { gate.wait() }
      return nil
    }
    let engine = try CurlTransport.with {
      $0.connectionsPerHost = 1
      $0.connection = lab.options {
        $0.tls.identity = identity(.application)
        $0.proxy = .url(proxy.baseURL)
      }
    }
    let first = Task { try await engine.text(server) }
    #expect(await eventually { proxy.acceptedConnections == 1 })
    rotating.replace(with: .pem(try issue("new")))
    let second = Task { try await engine.text(server) }
    #expect(await eventually { engine.activeTransfers == 2 })
    gate.signal()
    _ = try await first.value
    #expect(try await second.value == "new")
  }

  @Test("Another certificate for the same key is presented too")
  func sameKey() async throws {
    let server = try server()
    let old = try issue("old")
    try write(old)
    let transport = try transport(.engine)
    #expect(try await transport.text(server) == "old")
    try write(lab.authority.issue(hosts: [], commonName: "new", privateKeyPEM: old.privateKeyPEM))
    try await lookAgain()
    #expect(try await transport.text(server) == "new")
  }

  @Test("Files that are written again with the same content keep connections and sessions")
  func sameContent() async throws {
    let server = try server()
    let certificate = try issue("old")
    try write(certificate)
    let transport = try transport(.engine)
    for _ in 0..<3 {
      #expect(try await transport.text(server) == "old")
      try write(certificate)
      try await lookAgain()
    }
    #expect(server.acceptedConnections == 1)
  }
}

extension Transport {
  /// Fetches from a server, and returns the text of its answer.
  fileprivate func text(_ server: LoopbackServer, _ connection: ConnectionOptions? = nil) async throws -> String {
    var request = TransferRequest.to(server, "/")
    request.connection = connection
    return String(decoding: try await execute(request).body.bytes ?? Data(), as: UTF8.self)
  }
}

extension TLSOptions.Identity {
  /// An identity from memory.
  fileprivate static func pem(_ certificate: MintedCertificate) -> Self {
    Self(certificate: .bytes(Array(certificate.chainPEM.utf8)), key: .bytes(Array(certificate.privateKeyPEM.utf8)))
  }
}
