// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import TestSupport
import Testing

@Suite("Certificate mint", .ownThread)
struct CertificateMintTests {
  @Test("Every key type makes a root and a leaf that verify", arguments: CertificateKeyType.allCases)
  func keyTypes(_ type: CertificateKeyType) throws {
    let root = try CertificateAuthority(keyType: type)
    let leaf = try root.issue(hosts: ["localhost"], keyType: type)
    try leaf.verify(host: "localhost", trusting: root.rootPEM)
    #expect(leaf.privateKeyPEM.hasPrefix("-----BEGIN PRIVATE KEY-----"))
  }

  @Test("A leaf below intermediates carries them in its chain, without the root")
  func intermediates() throws {
    let root = try CertificateAuthority(commonName: "Root")
    let lower = try root.intermediate(commonName: "One").intermediate(commonName: "Two", keyType: .p384)
    let leaf = try lower.issue(hosts: ["a.example", "*.b.example", "127.0.0.1", "::1"])
    #expect(leaf.chainPEM.split(separator: "-----BEGIN CERTIFICATE-----").count == 3)
    #expect(!leaf.chainPEM.contains(root.certificatePEM))
    for host in ["a.example", "x.b.example", "127.0.0.1", "::1"] {
      try leaf.verify(host: host, trusting: root.rootPEM)
    }
  }

  @Test("Certificates that a client must refuse fail verification with OpenSSL's code")
  func refusals() throws {
    let root = try CertificateAuthority()
    let other = try CertificateAuthority()
    let good = try root.issue(hosts: ["localhost"])
    expect(code: 62) { try good.verify(host: "elsewhere", trusting: root.rootPEM) }
    expect(code: 64) { try good.verify(host: "127.0.0.1", trusting: root.rootPEM) }
    expect(code: 20) { try good.verify(host: nil, trusting: other.rootPEM) }
    let expired = try root.issue(hosts: ["localhost"], days: -366 ... -1)
    expect(code: 10) { try expired.verify(host: nil, trusting: root.rootPEM) }
    let early = try root.issue(hosts: ["localhost"], days: 1...366)
    expect(code: 9) { try early.verify(host: nil, trusting: root.rootPEM) }
    let alone = try CertificateMint.selfSigned(hosts: ["localhost"])
    expect(code: 18) { try alone.verify(host: nil, trusting: root.rootPEM) }
    let narrow = try CertificateAuthority(pathLength: 0)
    let deep = try narrow.intermediate().issue(hosts: ["localhost"])
    expect(code: 25) { try deep.verify(host: nil, trusting: narrow.rootPEM) }
  }

  @Test("A host name with extension syntax is kept as one name")
  func hostileHost() throws {
    let root = try CertificateAuthority()
    let leaf = try root.issue(hosts: ["a.example,DNS:b.example"], commonName: "c")
    expect(code: 62) { try leaf.verify(host: "b.example", trusting: root.rootPEM) }
  }

  @Test("A renewed certificate keeps its key, and therefore its pin")
  func renewal() throws {
    let root = try CertificateAuthority()
    let first = try root.issue(hosts: ["localhost"])
    let renewed = try root.issue(hosts: ["localhost"], privateKeyPEM: first.privateKeyPEM)
    #expect(first.certificatePEM != renewed.certificatePEM)
    #expect(try first.publicKeySHA256() == renewed.publicKeySHA256())
    #expect(try first.publicKeySHA256() != root.identity.publicKeySHA256())
    #expect(try first.publicKeySHA256().count == 32)
  }

  @Test("Invalid input is a typed error")
  func nonsense() throws {
    let bad = MintedCertificate(certificatePEM: "no", privateKeyPEM: "no")
    #expect(throws: CertificateError.self) { try bad.publicKeySHA256() }
    #expect(throws: CertificateError.self) { try bad.verify(host: nil, trusting: "no") }
    let root = try CertificateAuthority()
    let errors = [
      #expect(throws: LoopbackError.self) { try root.issue(hosts: [], privateKeyPEM: "no") },
      #expect(throws: LoopbackError.self) { try root.issue(hosts: [], commonName: "") },
      #expect(throws: LoopbackError.self) { try bad.pin },
    ]
    for error in errors {
      guard case .invalidCertificate? = error else {
        Issue.record("another error: \(String(describing: error))")
        continue
      }
    }
    #expect(throws: LoopbackError.self) { try LoopbackServer(tls: LoopbackTLS(bad)) { _ in } }
  }
}

/// Expects certificates to be rejected with a given OpenSSL error code.
func expect(code: Int32, _ body: () throws -> Void, location: SourceLocation = #_sourceLocation) {
  let error = #expect(throws: CertificateError.self, sourceLocation: location) { try body() }
  guard case .invalid(let found, _) = error else {
    Issue.record("unexpected \(String(describing: error))", sourceLocation: location)
    return
  }
  #expect(found == code, sourceLocation: location)
}
