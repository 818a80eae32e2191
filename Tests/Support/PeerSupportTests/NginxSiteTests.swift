// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PeerSupport
import Testing

/// Tests of nginx sites that change their certificate, require a client certificate, or staple an OCSP response.
@Suite("Peers: sites of nginx", .timeLimit(.minutes(15)))
struct NginxSiteTests {
  private func site(
    _ certificates: PeerCertificates, clientAuthority: String? = nil, ocspResponse: [UInt8]? = nil
  ) throws -> NginxPeer.Site {
    NginxPeer.Site(
      chainPEM: try text(certificates.server), privateKeyPEM: try text(certificates.serverKey),
      clientAuthorityPEM: try clientAuthority.map(text), ocspResponse: ocspResponse)
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
  }

  @Test("A certificate is replaced while nginx runs")
  func replacement() async throws {
    let (old, new) = (try await PeerCertificates(), try await PeerCertificates())
    let nginx = try await NginxPeer.start(sites: [try site(old), try site(old)], reloads: true)
    let port = nginx.ports.sites[0]
    try await old.handshake(port: port)
    try await nginx.replaceCertificate(ofSite: 0, with: try site(new))
    try await new.handshake(port: port)
    await #expect(throws: PeerError.self) { try await old.handshake(port: port) }
    try await old.handshake(port: nginx.ports.sites[1])
    try await nginx.replaceCertificate(ofSite: 0, with: try site(old))
    try await old.handshake(port: port)
    nginx.stop()
    #expect(!Loopback.accepts(port: port))
  }

  @Test("A client certificate of the site's own authority is requested")
  func clientCertificate() async throws {
    let (mine, other) = (try await PeerCertificates(), try await PeerCertificates())
    let nginx = try await NginxPeer.start(sites: [try site(mine, clientAuthority: other.authority)])
    let port = nginx.ports.sites[0]
    let answer = { (identity: PeerCertificates) in
      try await OpenSSLProgram.run(
        """
        printf 'GET /json HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' \
          | openssl s_client -connect 127.0.0.1:\(port) -tls1_2 -ign_eof \
          -cert \(identity.client) -key \(identity.clientKey) || true
        """, in: try PeerDirectory())
    }
    #expect(try await answer(other).contains("HTTP/1.1 200 OK"))
    #expect(try await answer(mine).contains("HTTP/1.1 400 Bad Request"))
  }

  @Test("An OCSP response is stapled")
  func staple() async throws {
    let certificates = try await PeerCertificates()
    // nginx does not parse the file; s_client prints the response that it receives.
    let response: [UInt8] = [0x30, 0x03, 0x0A, 0x01, 0x06]
    let nginx = try await NginxPeer.start(sites: [try site(certificates, ocspResponse: response)])
    let seen = try await OpenSSLProgram.run(
      "openssl s_client -connect 127.0.0.1:\(nginx.ports.sites[0]) -status </dev/null || true", in: try PeerDirectory())
    #expect(seen.contains("OCSP Response Status: unauthorized (0x6)"), "\(seen)")
  }
}
