// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Lastro

@Suite("Message digests")
struct MessageDigestTests {
  private static let twoBlocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
  private static let twoLongBlocks =
    "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"

  /// Uses the examples of FIPS 180-4 and RFC 1321 §A.5.
  @Test(
    "The digests of NIST and RFC 1321 are reproduced",
    arguments: [
      (HashAlgorithm.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (.sha256, twoBlocks, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
      (.sha512_256, "abc", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
      (.sha512_256, twoLongBlocks, "3928e184fb8690f840da3988121d31be65cb9d3ef83ee6146feac861e19b563a"),
      (.md5, "", "d41d8cd98f00b204e9800998ecf8427e"), (.md5, "a", "0cc175b9c0f1b6a831c399e269772661"),
      (.md5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
      (.md5, "abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
    ])
  func vectors(algorithm: HashAlgorithm, text: String, expected: String) throws {
    #expect(try MessageDigest(of: Array(text.utf8), algorithm).hexadecimal == expected)
    let hasher = try MessageHasher(algorithm)
    for byte in text.utf8 { hasher.update([byte]) }
    #expect(try hasher.digest().hexadecimal == expected)
  }

  @Test("Digests that differ in any single bit are different", arguments: [0, 1, 16, 20, 32, 64])
  func bits(count: Int) {
    let random = RandomSource.seeded(UInt64(count))
    let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    let digest = MessageDigest(bytes)
    #expect(digest == MessageDigest(bytes))
    for index in bytes.indices {
      for bit in 0..<8 {
        var other = bytes
        other[index] ^= 1 << bit
        #expect(digest != MessageDigest(other), "bit \(bit) of byte \(index)")
      }
    }
    #expect(digest != MessageDigest(bytes + [0]))
  }

  @Test("A million letters in pieces of any size have the known digest, and an intermediate digest changes nothing")
  func million() throws {
    let hasher = try MessageHasher()
    let random = RandomSource.seeded(3)
    var left = 1_000_000
    while left > 0 {
      let count = min(left, Int(random.next() % 5000))
      hasher.update(Data(repeating: UInt8(ascii: "a"), count: count))
      left -= count
      _ = try hasher.digest()
    }
    let expected = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    #expect(try hasher.digest().hexadecimal == expected)
    #expect(try hasher.digest().hexadecimal == expected)
  }

  /// The vectors of RFC 4231 §4.2 to §4.8, without the truncated fifth.
  private static let hmacVectors: [(key: [UInt8], message: [UInt8], expected: String)] = [
    (
      [UInt8](repeating: 0x0B, count: 20), [UInt8]("Hi There".utf8),
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      [UInt8]("Jefe".utf8), [UInt8]("what do ya want for nothing?".utf8),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      [UInt8](repeating: 0xAA, count: 20), [UInt8](repeating: 0xDD, count: 50),
      "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
    ),
    (
      [UInt8](1...25), [UInt8](repeating: 0xCD, count: 50),
      "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
    ),
    (
      [UInt8](repeating: 0xAA, count: 131), [UInt8]("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
    (
      [UInt8](repeating: 0xAA, count: 131),
      [UInt8](
        ("This is a test using a larger than block-size key and a larger than block-size data. The key needs to be "
          + "hashed before being used by the HMAC algorithm.").utf8),
      "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
    ),
  ]

  @Test("The HMACs of RFC 4231 are reproduced", arguments: hmacVectors)
  func hmac(key: [UInt8], message: [UInt8], expected: String) throws {
    #expect(try MessageDigest.hmacSHA256(of: message, key: key).hexadecimal == expected)
  }

  @Test("A secret may be used as a key, and so may an empty one")
  func keys() throws {
    let message = Data("what do ya want for nothing?".utf8)
    let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    #expect(try MessageDigest.hmacSHA256(of: message, key: Secret("Jefe")).hexadecimal == expected)
    // RFC 2104 pads the key with zeros, so an empty key equals one zero byte.
    let empty = try MessageDigest.hmacSHA256(of: [UInt8](), key: [UInt8]())
    #expect(empty.hexadecimal == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    #expect(try MessageDigest.hmacSHA256(of: [UInt8](), key: [UInt8](repeating: 0, count: 1)) == empty)
  }

  @Test("A hash function that OpenSSL lacks is an error")
  func missing() {
    // MD4 is in a provider that is not loaded; the other functions are in no provider.
    for name in ["MD4", "no such function", ""] {
      #expect(throws: HashingError(.md5)) { try MessageHasher(.md5, named: name) }
    }
  }

  @Test("Digests have Base64, equality and descriptions")
  func forms() throws {
    let digest = try MessageDigest(of: Data("abc".utf8))
    #expect(digest.base64 == "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=")
    #expect("\(digest)" == digest.hexadecimal)
    #expect(digest == MessageDigest(digest.bytes))
    #expect(digest != MessageDigest(digest.bytes.dropLast() + [0]))
    #expect(digest != MessageDigest(Array(digest.bytes.dropLast())))
    #expect(MessageDigest([]) == MessageDigest([]))
    #expect("\(HashingError(.md5))".contains("FIPS"))
    #expect("\(HashingError(.sha256))".contains("openssl.cnf"))
  }
}
