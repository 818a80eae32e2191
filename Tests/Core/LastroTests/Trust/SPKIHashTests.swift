// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Pins", .ownThread)
struct SPKIHashTests {
  @Test(
    "Known keys have the pins that openssl computes", .parity("SH01", "SH02", "SH03", "SH04", "SH05"),
    arguments: KnownKey.all)
  func known(_ key: KnownKey) throws {
    let pin = try SPKIHash(pem: key.pem)
    #expect(pin.base64 == key.pin && pin.description == "sha256/" + key.pin)
    #expect(SPKIHash(key.pin) == pin && SPKIHash("sha256/" + key.pin) == pin)
  }

  @Test(
    "The kind of a certificate's key is recognized", .parity("PK01", "PK02", "PK03", "PK04", "PK05"),
    arguments: [
      (.rsa2048, "RSA 2048"), (.rsa3072, "RSA 3072"), (.rsa4096, "RSA 4096"), (.p256, "EC P-256"),
      (.p384, "EC P-384"), (.p521, "EC P-521"), (.ed25519, "ED25519"),
    ] as [(CertificateKeyType, String)])
  func kinds(_ type: CertificateKeyType, name: String) throws {
    let certificate = try PeerCertificate(minted: CertificateAuthority(keyType: type).certificatePEM)
    #expect(certificate.facts?.key.description == name)
  }

  @Test(
    "The pin of a certificate is that of its key, whatever its type",
    .parity("SC01", "SC02", "SC03", "SC04", "SC05", "SC06", "SC07", "SC08", "SC09", "SC10"),
    arguments: CertificateKeyType.allCases)
  func certificates(_ type: CertificateKeyType) throws {
    let minted = try CertificateAuthority(keyType: type).identity
    let certificate = try PeerCertificate(minted: minted.certificatePEM)
    #expect(try certificate.pin.bytes == minted.publicKeySHA256())
    #expect(try SPKIHash(pem: minted.certificatePEM) == certificate.pin)
    #expect(try PeerCertificate.certificates(pem: certificate.pem) == [certificate])
  }

  @Test("A renewed certificate with the same key keeps its pin")
  func renewed() throws {
    let root = try CertificateAuthority()
    let first = try root.issue(hosts: ["a.example"])
    let second = try PeerCertificate(
      minted: root.issue(hosts: ["a.example"], privateKeyPEM: first.privateKeyPEM).certificatePEM)
    let before = try PeerCertificate(minted: first.certificatePEM)
    #expect(before != second && before.pin == second.pin)
  }

  @Test("Pins are compared as 32 bytes: another spelling of the last character is the same pin")
  func nonCanonical() throws {
    let pin = try #require(SPKIHash("r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E="))
    #expect(SPKIHash("r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5F=") == pin)
  }
}

/// A public key with its pin, as `openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64` prints it.
struct KnownKey: Sendable, CustomTestStringConvertible {
  var name: String
  var pem: String
  var pin: String

  var testDescription: String { name }

  static let all = [
    KnownKey(
      name: "DigiCert Global Root G2, RSA 2048",
      pem: """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAuzfNNNx7a8myaJCtSnX/
        RrohCgiN9RlUyfuI2/Ou8jqJkTx65qsGGmvPrC3oXgkkRLpimn7Wo6h+4FR1IAWs
        ULecYxpsMNzaHxmx1x7e/dfgy5SDN67sH0NO3Xss0r0upS/kqbitOtSZpLYl6Ztr
        AGCSYP9PIUkY92eQq2EGnI/yuum06ZIya7XzV+hdG82MHauVBJVJ8zUtluNJbd13
        4/tJS7SsVQepj5WztCO7TG1F8PapspUwtP1MVYwnSlcUfIKdzXOS0xZKBgyMUNGP
        Hgm+F6HmIcr9g+UQvIOlCsRnKPZzFBQ9RnbDhxSJITRNrw9FDKZJobq7nMWxM4Mp
        hQIDAQAB
        -----END PUBLIC KEY-----
        """,
      pin: "i7WTqTvh0OioIruIfFR4kMPnBqrS2rdiVPl/s2uC/CY="),
    KnownKey(
      name: "Amazon Root CA 2, RSA 4096",
      pem: """
        -----BEGIN PUBLIC KEY-----
        MIICIjANBgkqhkiG9w0BAQEFAAOCAg8AMIICCgKCAgEArZafLZxKTEqBeVGZ7IrL
        a2BRE7xNbQb8sAiN3RkQascmDDXYwG8ghOmUsZuFA8Nb20royPiQdtlbT+NM6AY2
        TcyarD0MkCuS1AYZYKw3RHmFgYKtWjfgDcydpkxSdupDnbcE0VD2VeDV0qZJhek3
        6cp+rlyVTUiaP64gWm2Ildk0uFIaQ5Cwv2wFubZ4t+rQ5Do8ElNi/0rye741BakS
        NOPzZHRiLD0ASVoo/jJEu4fdZScCcTvaSvcf2s33IVWQTw/sroLhn2vZRdO78F+H
        7TwsOYbaP97sclXreaOt2918sLoczvzeTzV2zw/4eB9qNlFGJ2Fb6Z7P8KJVfXwl
        im8vtMXPhC4r/Q1REGz7Xxu8G37FrjuYATGS/wtX9JqyuVfpq+8NdtHw7vTOhqfg
        bum0aaHfafYzxmkulxOepYewVxCBN8lTs7t/9pLRnNAY9JJu2oNPpmOZTKX7Xu8h
        ZHogX2xkhRXLN+liDAsqFtwBLjLaPkv1njr2F0CU756RCIb6vmOoWjPsy3RDlfls
        aVI2xylv/FUDXB/7n71H6+dJR5ULTokiCUng9WEe8b8uinJugFn/Vzr5dTKjTl/s
        7Shi2U1z8syBF2Dtzevc26fKxX4CvfJUCFT9tC0JLBdUSpjRVOFRZwjS7W5+bz/S
        LYFZKWbLkDmVER50J/7d668CAwEAAQ==
        -----END PUBLIC KEY-----
        """,
      pin: "f0KW/FtqTjs108NpYj42SrGvOB2PpxIVM8nWxjPqJGE="),
    KnownKey(
      name: "Amazon Root CA 3, P-256",
      pem: """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEKZenxkF/wA2b6AEbVsbyUqW6LbIS
        6NIu1/rJxdiqbR9zgTs7mGs5fDOlxU6GjoAXaGJFV31EWB2zN+VnCOtm3g==
        -----END PUBLIC KEY-----
        """,
      pin: "NqvDJlas/GRcYbcWE8S/IceH9cq77kg0jVhZeAPXq8k="),
    KnownKey(
      name: "Amazon Root CA 4, P-384",
      pem: """
        -----BEGIN PUBLIC KEY-----
        MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE0quKN0+jUw3+wYp7S6h7RktjsGL2LRvb
        CHEh0gDoY72aJ/vwOW5d6j2lyYGqo1sgmEVdFtv96BBt45zg471fhGLzcGQzoMsk
        L3C6iKEqoHX4ga5iBsSB2zluKbAe+i5c
        -----END PUBLIC KEY-----
        """,
      pin: "9+ze1cZgR9KO1kZrVDxA4HQ6voHRCSVNz4RdTCx4U8U="),
    KnownKey(
      name: "a key made for this test, P-521",
      pem: """
        -----BEGIN PUBLIC KEY-----
        MIGbMBAGByqGSM49AgEGBSuBBAAjA4GGAAQAVJfhvqymLgxVNGcEEj8uFULS08Nt
        0LdmeDThNNutHF+TjFnoGGDglmgknaHDSNCGk7/Z+QEWn0b0E1q563MkDkoA1GCF
        RVsRX9p4fjxAfFNTE45Y8zTc3/jnnDeVC40qKuhhzRNtZCi3T5WjCIpV1nhcgblp
        eFwtBJXQWJhYf1v2BSk=
        -----END PUBLIC KEY-----
        """,
      pin: "k2Jxmir6QMmM7j7H7iSZxu4WlN7sS1okxOoJLAvs+Ek="),
  ]
}
