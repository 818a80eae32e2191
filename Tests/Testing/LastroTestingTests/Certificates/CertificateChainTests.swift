// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroTesting
import TestSupport
import Testing

/// Tests of the chains that trust tests need: constrained, cross-signed, incomplete, out of order.
@Suite("Certificate chains", .ownThread)
struct CertificateChainTests {
  @Test("Every key type signs as root, as intermediate, and for a leaf", arguments: CertificateKeyType.allCases)
  func keyTypes(_ type: CertificateKeyType) throws {
    let root = try CertificateAuthority(keyType: type)
    let leaf = try root.intermediate(keyType: type).issue(hosts: ["localhost"], keyType: type)
    try leaf.verify(host: "localhost", trusting: root.rootPEM)
    let response = try root.ocspResponse(for: leaf)
    #expect(!response.isEmpty)
  }

  @Test("Permitted and excluded names are enforced and inherited")
  func nameConstraints() throws {
    let constraints = CertificateNameConstraints(permitted: ["example.com"], excluded: ["secret.example.com"])
    let roots = [
      try CertificateAuthority(nameConstraints: constraints),
      try CertificateAuthority().intermediate(nameConstraints: constraints),
    ]
    for root in roots {
      for issuer in [root, try root.intermediate()] {
        for host in ["example.com", "a.example.com"] {
          try issuer.issue(hosts: [host]).verify(host: host, trusting: root.rootPEM)
        }
        expect(code: 47) { try issuer.issue(hosts: ["example.org"]).verify(host: nil, trusting: root.rootPEM) }
        expect(code: 48) { try issuer.issue(hosts: ["a.secret.example.com"]).verify(host: nil, trusting: root.rootPEM) }
      }
    }
    // The constraint is on DNS names, so it does not apply to an address.
    try roots[0].issue(hosts: ["127.0.0.1"], commonName: "x").verify(host: "127.0.0.1", trusting: roots[0].rootPEM)
  }

  @Test("A path length is enforced at every level")
  func pathLength() throws {
    let root = try CertificateAuthority()
    let one = try root.intermediate(commonName: "One", pathLength: 1)
    let two = try one.intermediate(commonName: "Two")
    try two.issue(hosts: ["localhost"]).verify(host: nil, trusting: root.rootPEM)
    let three = try two.intermediate(commonName: "Three")
    expect(code: 25) { try three.issue(hosts: ["localhost"]).verify(host: nil, trusting: root.rootPEM) }
  }

  @Test("A cross-signed authority also leads to the other root")
  func crossSigning() throws {
    let old = try CertificateAuthority(commonName: "Old root")
    let new = try CertificateAuthority(commonName: "New root", keyType: .p384)
    let leaf = try new.issue(hosts: ["localhost"])
    expect(code: 20) { try leaf.verify(host: nil, trusting: old.rootPEM) }
    let cross = try new.crossSigned(by: old)
    #expect(try cross.pin == new.identity.pin)
    let both = leaf.adding(cross)
    try both.verify(host: "localhost", trusting: old.rootPEM)
    try both.verify(host: "localhost", trusting: new.rootPEM)
    let narrow = try new.crossSigned(by: old, nameConstraints: CertificateNameConstraints(excluded: ["localhost"]))
    expect(code: 48) { try leaf.adding(narrow).verify(host: nil, trusting: old.rootPEM) }
    let lower = try new.crossSigned(by: try old.intermediate())
    #expect(lower.chainPEM.split(separator: "-----BEGIN CERTIFICATE-----").count == 2)
  }

  @Test("Chains that are incomplete, out of order or too long can be served")
  func chains() throws {
    let root = try CertificateAuthority()
    let one = try root.intermediate(commonName: "One")
    let two = try one.intermediate(commonName: "Two")
    let leaf = try two.issue(hosts: ["localhost"])
    let stranger = try CertificateAuthority(commonName: "Stranger")
    expect(code: 20) { try leaf.withoutIntermediates.verify(host: nil, trusting: root.rootPEM) }
    expect(code: 20) { try leaf.sending([one.identity]).verify(host: nil, trusting: root.rootPEM) }
    // OpenSSL finds issuers in any order.
    try leaf.sending([one.identity, two.identity]).verify(host: nil, trusting: root.rootPEM)
    let crowded = leaf.adding(stranger.identity, root.identity)
    try crowded.verify(host: nil, trusting: root.rootPEM)
    let sent = try PeerCertificate.certificates(pem: crowded.chainPEM).map(\.pin)
    let expected = [leaf, two.identity, one.identity, stranger.identity, root.identity]
    #expect(try sent == expected.map { minted throws(LoopbackError) in try minted.pin })
  }

  @Test("Each certificate profile has the expected effect")
  func profiles() throws {
    let root = try CertificateAuthority()
    func code(_ profile: CertificateProfile, hosts: [String] = ["localhost"]) throws -> Int32 {
      let leaf = try root.issue(hosts: hosts, commonName: "localhost", profile: profile)
      do throws(CertificateError) {
        try leaf.verify(host: "localhost", trusting: root.rootPEM)
        return 0
      } catch {
        guard case .invalid(let code, _) = error else { throw error }
        return code
      }
    }
    #expect(try code(CertificateProfile()) == 0)
    #expect(try code(CertificateProfile(usages: [])) == 0)
    #expect(try code(CertificateProfile(usages: [.server])) == 0)
    #expect(try code(CertificateProfile(usages: [.client])) == 26)
    #expect(try code(CertificateProfile(hasKeyIdentifiers: false)) == 0)
    #expect(try code(CertificateProfile(hasUnknownCriticalExtension: true)) == 34)
    #expect(try code(CertificateProfile(requiresStaple: true)) == 0)
    // Without subject alternative names, OpenSSL falls back to the common name by default.
    #expect(try code(CertificateProfile(isVersion1: true)) == 0)
    #expect(try code(CertificateProfile(), hosts: []) == 0)
  }

  @Test("A wildcard covers one label")
  func wildcard() throws {
    let root = try CertificateAuthority()
    let leaf = try root.issue(hosts: ["*.example.com"])
    try leaf.verify(host: "a.example.com", trusting: root.rootPEM)
    for host in ["example.com", "a.b.example.com"] {
      expect(code: 62) { try leaf.verify(host: host, trusting: root.rootPEM) }
    }
  }

  @Test("The files exist, are private, and are removed")
  func files() throws {
    let root = try CertificateAuthority()
    let leaf = try root.intermediate().issue(hosts: ["localhost"])
    let directory: String
    do {
      let files = try CertificateFiles(leaf, rootsPEM: root.rootPEM)
      directory = files.directory
      for (path, text) in [
        (files.chain, leaf.chainPEM), (files.privateKey, leaf.privateKeyPEM), (files.roots, root.rootPEM),
      ] {
        #expect(try String(decoding: Data(contentsOf: URL(filePath: path)), as: UTF8.self) == text)
      }
      let attributes = try FileManager.default.attributesOfItem(atPath: directory)
      #expect((attributes[.posixPermissions] as? Int) == 0o700)
      #expect(throws: CertificateError.self) { try files.write("", to: "no/such/folder") }
      _ = files
    }
    #expect(!FileManager.default.fileExists(atPath: directory))
  }
}
