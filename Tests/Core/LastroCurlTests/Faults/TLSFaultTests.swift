// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Faults of TLS handshakes and connections.
@Suite("Faults: TLS", .overEachLink, .timeLimit(.minutes(15)))
struct TLSFaultTests {
  private let authority: CertificateAuthority
  private let engine: any LinkedEngine

  init() throws {
    authority = try CertificateAuthority()
    engine = try LinkKind.current.engine()
  }

  private func server(
    _ adapt: (inout LoopbackTLS) throws -> Void = { _ in }, handler: @escaping LoopbackServer.Handler = Self.fine
  ) throws -> LoopbackServer {
    var tls = LoopbackTLS(try authority.issue(hosts: ["localhost"]))
    try adapt(&tls)
    return try LoopbackServer(tls: tls, handler: handler)
  }

  private static let fine: LoopbackServer.Handler = { connection in
    try connection.serveHTTP { _ in .text("fine") }
  }

  private func outcome(_ server: LoopbackServer) async -> Outcome {
    let outcome = await engine.outcome(server) { $0.trust(authority) }
    #expect(await eventually { engine.activeTransfers == 0 })
    return outcome
  }

  @Test("A correct server is accepted, for comparison")
  func good() async throws {
    let outcome = await outcome(try server())
    #expect(outcome == .answered(200, "fine"))
  }

  @Test("TLS connections are reused", arguments: [TLSOptions.Version.v1_2, .v1_3])
  func reuse(_ version: TLSOptions.Version) async throws {
    let server = try server({ $0.maximumVersion = version })
    for _ in 0..<5 {
      let outcome = await outcome(server)
      #expect(outcome == .answered(200, "fine"))
    }
    #expect(server.requests.map(\.connection) == [1, 1, 1, 1, 1])
  }

  enum End: CaseIterable { case closeNotify, bareFIN, reset }

  @Test(
    "A body delimited by the end of the connection is complete only with close_notify", arguments: End.allCases,
    [false, true])
  func closeDelimited(_ end: End, isTLS12: Bool) async throws {
    let server = try server({ if isTLS12 { $0.maximumVersion = .v1_2 } }) { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbody")
      switch end {
      case .closeNotify: connection.close()
      case .bareFIN: connection.closeWithoutNotify()
      case .reset: connection.reset()
      }
    }
    let outcome = await outcome(server)
    #expect(outcome == (end == .closeNotify ? .answered(200, "body") : .failed("response/truncated_body")))
    #expect(server.requests.count == 1)
  }

  @Test("A body of known length needs no close_notify", arguments: [false, true])
  func knownLength(isChunked: Bool) async throws {
    let server = try server(handler: { connection in
      _ = try connection.readHead()
      try connection.write(
        isChunked
          ? "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"
          : "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody")
      connection.closeWithoutNotify()
    })
    let outcome = await outcome(server)
    #expect(outcome == .answered(200, "body"))
  }

  @Test(
    "A body of known length that is cut is truncated, with or without close_notify", arguments: [false, true],
    [false, true])
  func cut(isChunked: Bool, notifies: Bool) async throws {
    let server = try server(handler: { connection in
      _ = try connection.readHead()
      try connection.write(
        isChunked
          ? "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nbody"
          : "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbody")
      if notifies { connection.close() } else { connection.closeWithoutNotify() }
    })
    let outcome = await outcome(server)
    #expect(outcome == .failed("response/truncated_body"))
  }

  @Test(
    "Failed handshakes are reported as TLS failures",
    arguments: [LoopbackTLS.HandshakeFault.resetInHandshake, .closeInHandshake, .plaintextInsteadOfTLS])
  func handshake(_ fault: LoopbackTLS.HandshakeFault) async throws {
    let server = try server({ $0.handshakeFault = fault })
    let error = try await engine.failure(server) { $0.trust(authority) }
    #expect(error.words == "tls/handshake_failed")
    #expect(!error.requestSent)
    #expect(server.requests.isEmpty && server.acceptedConnections == 1)
    #expect(await eventually { engine.activeTransfers == 0 && server.openConnections == 0 })
  }

  @Test("A plain server at an https URL fails the handshake")
  func plainServer() async throws {
    let server = try LoopbackServer { connection in
      _ = connection.read(max: 1)
      try connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
    }
    let error = try await engine.failure(server) { $0.head.scheme = "https" }
    #expect(error.words == "tls/handshake_failed")
  }

  @Test("A TLS server at an http URL fails the response")
  func plainClient() async throws {
    let server = try server()
    let error = try await engine.failure(server) { $0.head.scheme = "http" }
    #expect(error.stage == .response, "\(error)")
    #expect(server.requests.isEmpty)
  }

  @Test("TLS versions below 1.2 fail the handshake", arguments: [TLSOptions.Version.v1_0, .v1_1])
  func oldVersion(_ version: TLSOptions.Version) async throws {
    let server = try server({
      $0.minimumVersion = .v1_0
      $0.maximumVersion = version
    })
    let outcome = await outcome(server)
    #expect(outcome == .failed("tls/handshake_failed"))
    #expect(server.requests.isEmpty)
  }

  @Test("Invalid certificates are refused", arguments: ["expired", "early", "host", "root", "self-signed"])
  func certificate(_ fault: String) async throws {
    let identity =
      switch fault {
      case "expired": try authority.issue(hosts: ["localhost"], days: -366 ... -1)
      case "early": try authority.issue(hosts: ["localhost"], days: 1...366)
      case "host": try authority.issue(hosts: ["example.org"])
      case "root": try CertificateAuthority(commonName: "Another root").issue(hosts: ["localhost"])
      default: try CertificateMint.selfSigned(hosts: ["localhost"])
      }
    let server = try server({ $0.identity = identity })
    let error = try await engine.failure(server) { $0.trust(authority) }
    let words = ["expired": "certificate_expired", "early": "certificate_expired", "host": "host_mismatch"]
    #expect(error.words == "tls/" + (words[fault] ?? "untrusted_certificate"))
    #expect(!error.requestSent)
    #expect(server.requests.isEmpty)
  }

  @Test(
    "A missing client certificate that the server requires fails the request",
    arguments: [TLSOptions.Version.v1_2, .v1_3])
  func missingClientCertificate(_ version: TLSOptions.Version) async throws {
    let server = try server({
      $0.clientAuthoritiesPEM = authority.rootPEM
      $0.maximumVersion = version
    })
    let error = try await engine.failure(server) { $0.trust(authority) }
    // In TLS 1.3 the client completes the handshake before the server has judged the client's certificate (RFC 8446
    // §2). The refusal may arrive after the request was sent.
    #expect(error.stage == .tls || (version == .v1_3 && error.requestSent), "\(error)")
    if error.stage == .tls {
      let alert = version == .v1_3 ? "certificate required" : "handshake failure"
      #expect(error.words == "tls/client_certificate_required" && error.message.contains(alert), "\(error)")
      #expect(error.hint?.contains("TLSOptions.identity") == true)
    }
    #expect(server.requests.isEmpty)
    #expect(await eventually { engine.activeTransfers == 0 })
  }
}
