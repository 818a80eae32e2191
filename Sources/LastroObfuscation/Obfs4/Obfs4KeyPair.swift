// SPDX-License-Identifier: Apache-2.0

/// A key for one handshake, whose public half travels as 32 bytes that look random.
///
/// The public half is no clean X25519 key: all of those lie in one of eight subgroups, which a handful of handshakes
/// would show. A point of low order is added, which the agreement of keys does away with again.
package struct Obfs4KeyPair: Sendable {
  package let secret: [UInt8]
  package let publicKey: [UInt8]
  package let representative: [UInt8]

  /// Makes a key: two tries on average. To be called before dialing, lest the number of tries shows as time.
  ///
  /// - Throws: ``Obfs4Failure/cryptoUnavailable``.
  package static func generate(using random: inout some Obfs4Random) throws(Obfs4Failure) -> Obfs4KeyPair {
    while true {
      let drawn = random.fill(33)
      if let pair = try Obfs4KeyPair(secret: [UInt8](drawn.prefix(32)), tweak: drawn[32]) { return pair }
    }
  }

  /// nil where the key has no representative, as every second one. The bits that clamping drops choose the point of low
  /// order; the tweak's lowest and its two highest bits choose the representative.
  package init?(secret: [UInt8], tweak: UInt8) throws(Obfs4Failure) {
    let clean = try Obfs4Primitives.publicKey(of: secret)
    publicKey = try Obfs4Primitives.sum(of: clean, lowOrder: secret[0] & 7)
    guard let representative = try Obfs4Primitives.representative(of: publicKey, tweak: tweak) else { return nil }
    self.representative = representative
    self.secret = secret
  }

  /// Of parts that were made elsewhere and belong together.
  package init(secret: [UInt8], publicKey: [UInt8], representative: [UInt8]) {
    self.secret = secret
    self.publicKey = publicKey
    self.representative = representative
  }
}
