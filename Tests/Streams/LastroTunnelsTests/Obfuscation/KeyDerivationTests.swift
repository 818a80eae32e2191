// SPDX-License-Identifier: Apache-2.0
import LastroTunnels
import Testing

@Suite("HKDF") struct KeyDerivationTests {
  @Test("The first eight bytes are those of RFC 5869, appendix A.1 and A.4")
  func whatTheStandardSays() {
    let salt = (0...12).map(UInt8.init)
    let info = (0xf0...0xf9).map(UInt8.init)
    let sha256 = KeyDerivation.bytes(8, hash: .sha256, key: .init(repeating: 0x0b, count: 22), salt: salt, info: info)
    #expect(sha256 == [0x3c, 0xb2, 0x5f, 0x25, 0xfa, 0xac, 0xd5, 0x7a])
    let sha1 = KeyDerivation.bytes(8, hash: .sha1, key: .init(repeating: 0x0b, count: 11), salt: salt, info: info)
    #expect(sha1 == [0x08, 0x5a, 0x01, 0xea, 0x1b, 0x10, 0xf3, 0x69])
  }
}
