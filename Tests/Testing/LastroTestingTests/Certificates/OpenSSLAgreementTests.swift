// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroTesting
import PeerSupport
import TestSupport
import Testing

/// Tests that the `openssl` program and Lastro read the minted certificates in the same way.
@Suite("Certificates compared with the openssl program", .ownThread, .timeLimit(.minutes(15)))
struct OpenSSLAgreementTests {
  private func directory(_ minted: MintedCertificate) throws -> PeerDirectory {
    let directory = try PeerDirectory()
    try directory.write(minted.certificatePEM, to: "leaf.pem")
    try directory.write(minted.privateKeyPEM, to: "key.pem")
    return directory
  }

  @Test(
    "The pin of every key type is the same, from certificate, request and public key",
    arguments: CertificateKeyType.allCases)
  func pin(_ type: CertificateKeyType) async throws {
    let root = try CertificateAuthority()
    let leaf = try root.issue(hosts: ["localhost"], keyType: type)
    let directory = try directory(leaf)
    let base64 = try await OpenSSLProgram.run(
      """
      openssl pkey -in key.pem -pubout -out public.pem
      openssl req -new -key key.pem -subj /CN=localhost -out request.pem
      openssl x509 -in leaf.pem -noout -pubkey | openssl pkey -pubin -outform der \
        | openssl dgst -sha256 -binary | base64
      """, in: directory)
    let expected = "sha256/" + base64.filter { !$0.isWhitespace }
    #expect(expected.count == 51)
    #expect(try leaf.pin.description == expected)
    #expect(SPKIHash(try leaf.publicKeySHA256())?.description == expected)
    let read = try PeerCertificate.certificates(pem: leaf.certificatePEM + root.certificatePEM)
    #expect(read.map(\.pin.description) == [expected, try root.identity.pin.description])
    #expect(try SPKIHash(pem: leaf.certificatePEM).description == expected)
    for file in ["request.pem", "public.pem"] {
      #expect(try SPKIHash(pem: directory.text(of: file)).description == expected, "\(file)")
    }
    #expect(SPKIHash(expected) == (try leaf.pin))
  }

  @Test("Subject, issuer, dates and key of every key type are the same", arguments: CertificateKeyType.allCases)
  func facts(_ type: CertificateKeyType) async throws {
    let root = try CertificateAuthority(commonName: "Raiz, S.A.")
    // UTCTime covers the years before 2050 (RFC 5280 §4.1.2.5).
    let validity = CertificateValidity(notBefore: 1_700_000_001, notAfter: 2_600_000_002)
    let leaf = try root.issue(
      hosts: ["localhost"], commonName: "café + \"x\"", validity: validity, keyType: type,
      profile: CertificateProfile())
    let printed = try await OpenSSLProgram.run(
      """
      openssl x509 -in leaf.pem -noout -subject -issuer -nameopt oneline,-esc_msb,utf8,-space_eq,sep_comma_plus_space
      openssl x509 -in leaf.pem -noout -dates -dateopt iso_8601
      openssl x509 -in leaf.pem -noout -text | grep -E 'Public Key Algorithm|Public-Key|NIST CURVE'
      """, in: directory(leaf))
    let facts = try #require(try PeerCertificate.certificates(pem: leaf.certificatePEM).first?.facts)
    let lines = printed.split(separator: "\n").map { $0.trimmingPrefix { $0 == " " } }
    #expect(lines.contains { $0 == "subject=\(facts.subject)" }, "\(printed)")
    #expect(lines.contains { $0 == "issuer=\(facts.issuer)" }, "\(printed)")
    let style = Date.ISO8601FormatStyle(dateTimeSeparator: .space)
    #expect(lines.contains { $0 == "notBefore=\(facts.notBefore.formatted(style))" }, "\(printed)")
    #expect(lines.contains { $0 == "notAfter=\(facts.notAfter.formatted(style))" }, "\(printed)")
    switch facts.keyKind {
    case .rsa(let bits):
      #expect(facts.rsaBits == bits)
      #expect(lines.contains("Public Key Algorithm: rsaEncryption"))
      #expect(lines.contains("Public-Key: (\(bits) bit)"))
    case .ec(let curve): #expect(lines.contains("NIST CURVE: \(curve)"))
    case .other(let name): #expect(lines.contains("Public Key Algorithm: \(name)"))
    }
    #expect(!facts.isAuthority && !facts.isSelfIssued)
    let above = try #require(try PeerCertificate.certificates(pem: root.rootPEM).first?.facts)
    #expect(above.isAuthority && above.isSelfIssued)
  }

  @Test("OCSP responses have the given status", arguments: OCSPStatus.allCases)
  func ocsp(_ status: OCSPStatus) async throws {
    let root = try CertificateAuthority()
    let leaf = try root.issue(hosts: ["localhost"])
    let directory = try directory(leaf)
    try directory.write(root.rootPEM, to: "root.pem")
    func verdict(_ response: [UInt8]) async throws -> String {
      try directory.write(Data(response), to: "response.der")
      return try await OpenSSLProgram.run(
        "openssl ocsp -respin response.der -CAfile root.pem -issuer root.pem -cert leaf.pem || true", in: directory)
    }
    let good = try await verdict(try root.ocspResponse(for: leaf, status: status))
    #expect(good.contains("Response verify OK"), "\(good)")
    #expect(good.contains("leaf.pem: \(status)"), "\(good)")
    let old = try await verdict(try root.ocspResponse(for: leaf, status: status, validity: .expired))
    #expect(old.contains("status expired"), "\(old)")
    let stranger = try CertificateAuthority(commonName: "Stranger")
    let forged = try await verdict(try root.ocspResponse(for: leaf, status: status, signedBy: stranger))
    #expect(forged.contains("Response Verify Failure"), "\(forged)")
  }
}
