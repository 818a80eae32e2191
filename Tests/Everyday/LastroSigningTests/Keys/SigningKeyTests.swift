// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Lastro
@testable import LastroSigning

@Suite("Keys for signing")
struct SigningKeyTests {
  private static let message = Array("message".utf8)

  @Test(
    "Each algorithm makes signatures that only its own verification accepts", arguments: SignatureAlgorithm.allCases)
  func algorithms(_ algorithm: SignatureAlgorithm) throws {
    let key: SigningKey
    let publicKey: VerifyingKey
    switch algorithm {
    case .ed25519:
      key = try SigningKey(pem: Secret(RFC9421.ed25519Private))
      publicKey = try VerifyingKey(pem: RFC9421.ed25519Public)
    case .ecdsaP256:
      key = try SigningKey(pem: Secret(RFC9421.p256Private))
      publicKey = try VerifyingKey(pem: RFC9421.p256Public)
    case .hmacSHA256:
      key = try SigningKey(secret: RFC9421.secret)
      publicKey = try VerifyingKey(secret: RFC9421.secret)
    case .rsaPSS512:
      key = try SigningKey(pem: Secret(RFC9421.rsaPrivate))
      publicKey = try VerifyingKey(pem: RFC9421.rsaPublic)
    case .rsaPSS256, .rsaPKCS1:
      key = try SigningKey(pem: Secret(RFC9421.rsa1Private), algorithm: algorithm)
      publicKey = try VerifyingKey(pem: RFC9421.rsa1Public, algorithm: algorithm)
    }
    #expect(key.algorithm == algorithm && publicKey.algorithm == algorithm)
    var signature = try key.signature(of: Self.message)
    let lengths: [SignatureAlgorithm: Int] = [.ed25519: 64, .ecdsaP256: 64, .hmacSHA256: 32]
    #expect(signature.count == lengths[algorithm, default: 256])
    #expect(try publicKey.isSignature(signature, of: Self.message))
    #expect(try !publicKey.isSignature(signature, of: []))
    signature[signature.count / 2] ^= 4
    #expect(try !publicKey.isSignature(signature, of: Self.message))
    for other in [[], [0], signature + [0], Array(signature.dropLast()), [UInt8](repeating: 0, count: 2000)] {
      #expect(try !publicKey.isSignature(other, of: Self.message))
    }
  }

  @Test("A random key signs, and no two are equal")
  func random() throws {
    let keys = [try SigningKey.random(), try SigningKey.random()]
    #expect(keys.allSatisfy { $0.algorithm == .ecdsaP256 })
    let parts = keys.map { key -> [UInt8] in
      guard case .pair(let handle) = key.material else { return [] }
      return handle.component("x") + handle.component("y")
    }
    #expect(parts[0].count == 64 && parts[0] != parts[1])
  }

  @Test(
    "A text that is not a supported key is refused with a hint, and not repeated",
    arguments: [
      "", "hidden", RFC9421.ed25519Public, String(RFC9421.rsaPrivate.prefix(400)),
      "-----BEGIN PRIVATE KEY-----\nhidden\n-----END PRIVATE KEY-----", String(repeating: "hidden\n", count: 20_000),
      // A key of 1024 bits.
      RFC9421.smallPrivate,
      // A key with a password.
      RFC9421.encryptedPrivate,
    ])
  func refused(pem: String) throws {
    let error = #expect(throws: ConfigurationError.self) { try SigningKey(pem: Secret(pem)) }
    #expect(error?.hint != nil && error.map { !"\($0)".contains("hidden") } == true)
  }

  @Test("A private key is not a public one, and an algorithm has to suit its key")
  func unsuitable() throws {
    #expect(throws: ConfigurationError.self) { try VerifyingKey(pem: RFC9421.ed25519Private) }
    #expect(throws: ConfigurationError.self) {
      try SigningKey(pem: Secret(RFC9421.ed25519Private), algorithm: .ecdsaP256)
    }
    #expect(throws: ConfigurationError.self) {
      try SigningKey(pem: Secret(RFC9421.p256Private), algorithm: .hmacSHA256)
    }
    #expect(throws: ConfigurationError.self) { try SigningKey(secret: Array(RFC9421.secret.prefix(15))) }
    // The key of RFC 9421 is for PSS alone.
    let error = #expect(throws: ConfigurationError.self) {
      try SigningKey(pem: Secret(RFC9421.rsaPrivate), algorithm: .rsaPKCS1)
    }
    #expect(error?.message.contains("restricted") == true && error?.hint != nil)
    // Its public half verifies nothing by another algorithm, and says so.
    let other = try VerifyingKey(pem: RFC9421.rsaPSSPublic, algorithm: .rsaPKCS1)
    #expect(throws: ConfigurationError.self) {
      try other.isSignature([UInt8](repeating: 1, count: 256), of: Self.message)
    }
  }

  @Test("A key is never shown")
  func masked() throws {
    let key = try SigningKey(secret: Array("hidden-hidden-hidden".utf8))
    var text = ""
    dump(key, to: &text)
    #expect("\(key)" == "***" && !text.contains("104") && !text.contains("hidden"))
  }
}
