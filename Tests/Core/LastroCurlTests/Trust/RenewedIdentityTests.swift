// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroHTTP
import LastroTesting
import PeerSupport
import TestSupport
import Testing

/// Files of client certificates that change while a stack is in use.
@Suite("Trust: renewed client certificates", .timeLimit(.minutes(15)))
struct RenewedIdentityTests {
  /// The component that presents the client certificate.
  enum Way: String, CaseIterable, Sendable { case engine, curlDialer, tlsDialer }

  struct Case: Sendable, CustomTestStringConvertible {
    var way: Way
    var version: TLSOptions.Version
    /// Whether the server keeps connections open.
    var keeps: Bool
    var testDescription: String { "\(way), \(version), \(keeps ? "pooled" : "fresh") connections" }

    static let all: [Self] = Way.allCases.flatMap { way in
      [TLSOptions.Version.v1_2, .v1_3].flatMap { version in
        [false, true].map { Self(way: way, version: version, keeps: $0) }
      }
    }
  }

  private let lab: TestAuthority
  private let directory: PeerDirectory

  init() throws {
    lab = try TestAuthority()
    directory = try PeerDirectory()
  }

  /// Returns a server that answers with the name in the client's certificate.
  private func server(_ version: TLSOptions.Version = .v1_3, keeps: Bool = true) throws -> LoopbackServer {
    var tls = try lab.tls()
    tls.clientAuthoritiesPEM = lab.authority.rootPEM
    (tls.minimumVersion, tls.maximumVersion) = (version, version)
    return try LoopbackServer(tls: tls) { connection in
      let name = connection.clientName ?? "nobody"
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

  private var identity: TLSOptions.Identity {
    TLSOptions.Identity(certificate: .file(directory.file("client.pem")), key: .file(directory.file("client.key")))
  }

  private func transport(_ way: Way) throws -> any Transport {
    let options = lab.options { $0.tls.identity = identity }
    let engine = try CurlTransport.with { $0.connection = options }
    switch way {
    case .engine: return engine
    case .curlDialer: return try DialerTransport(over: engine)
    case .tlsDialer: return try DialerTransport(over: TLSDialer(over: lab.base, connection: options))
    }
  }

  /// Waits until files are checked again; that happens once a second at most.
  private func lookAgain() async throws { try await Task.sleep(for: .milliseconds(1_100)) }

  @Test("A renewed certificate is presented from the next request on", arguments: Case.all)
  func renewed(_ test: Case) async throws {
    let server = try server(test.version, keeps: test.keeps)
    try write(issue("old"))
    let transport = try transport(test.way)
    for _ in 0..<2 { #expect(try await transport.text(server) == "old") }
    try write(issue("new"))
    try await lookAgain()
    for _ in 0..<2 { #expect(try await transport.text(server) == "new") }
    #expect(server.acceptedConnections == (test.keeps ? 2 : 4))
  }

  @Test("While certificate and key do not match, the pair that was read before stays in use", arguments: Way.allCases)
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
  fileprivate func text(_ server: LoopbackServer) async throws -> String {
    String(decoding: try await execute(.to(server, "/")).body.bytes ?? Data(), as: UTF8.self)
  }
}
