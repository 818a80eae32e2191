// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import Testing

@testable import Lastro

@Suite("Pins")
struct SPKIHashTests {
  @Test("SH01 SH02 SH03 SH04 SH05: known keys have the pins that openssl computes", arguments: KnownKey.all)
  func known(_ key: KnownKey) throws {
    let pin = try #require(SPKIHash(pem: key.pem))
    #expect(pin.base64 == key.pin && pin.description == "sha256/" + key.pin)
    #expect(SPKIHash(key.pin) == pin && SPKIHash("sha256/" + key.pin) == pin)
  }

  @Test(
    "PK01 PK02 PK03 PK04 PK05: the kind of a certificate's key",
    arguments: [
      (.rsa2048, "RSA 2048"), (.rsa3072, "RSA 3072"), (.rsa4096, "RSA 4096"), (.p256, "EC P-256"),
      (.p384, "EC P-384"), (.p521, "EC P-521"), (.ed25519, "ED25519"),
    ] as [(CertificateKeyType, String)])
  func kinds(_ type: CertificateKeyType, name: String) throws {
    let certificate = try PeerCertificate(minted: CertificateAuthority(keyType: type).certificatePEM)
    #expect(certificate.facts?.key.description == name)
  }

  @Test(
    "SC01 SC02 SC03 SC04 SC05 SC06 SC07 SC08 SC09 SC10: the pin of a certificate is that of its key, whatever its type",
    arguments: CertificateKeyType.allCases)
  func certificates(_ type: CertificateKeyType) throws {
    let minted = try CertificateAuthority(keyType: type).identity
    let certificate = try PeerCertificate(minted: minted.certificatePEM)
    #expect(try certificate.pin.bytes == minted.publicKeySHA256())
    #expect(SPKIHash(pem: minted.certificatePEM) == certificate.pin)
    #expect(try PeerCertificate.certificates(pem: certificate.pem) == [certificate])
  }

  @Test("a renewed certificate with the same key keeps its pin")
  func renewed() throws {
    let root = try CertificateAuthority()
    let first = try root.issue(hosts: ["a.example"])
    let second = try PeerCertificate(
      minted: root.issue(hosts: ["a.example"], privateKeyPEM: first.privateKeyPEM).certificatePEM)
    let before = try PeerCertificate(minted: first.certificatePEM)
    #expect(before != second && before.pin == second.pin)
  }

  @Test("pins are compared as 32 bytes: another spelling of the last character is the same pin")
  func nonCanonical() throws {
    let pin = try #require(SPKIHash("r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E="))
    #expect(SPKIHash("r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5F=") == pin)
  }
}
