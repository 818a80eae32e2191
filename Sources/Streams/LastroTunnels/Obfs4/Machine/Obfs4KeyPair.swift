// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// A key pair for one handshake. Its public key is sent as 32 bytes that look random.
///
/// The public key is not a plain X25519 key. Plain keys all lie in the subgroup of prime order, one of eight cosets. An
/// observer could detect that after a few handshakes. Therefore a point of low order is added; the key agreement
/// cancels it out.
package struct Obfs4KeyPair: Sendable {
  package let secret: [UInt8]
  package let publicKey: [UInt8]
  package let representative: [UInt8]

  /// Generates a key pair, with two attempts on average. Call it before dialing, so that the number of attempts does
  /// not show in the timing.
  ///
  /// - Throws: ``Obfs4Failure/cryptoUnavailable``.
  package static func generate(using random: RandomSource) throws(Obfs4Failure) -> Obfs4KeyPair {
    while true {
      let drawn = random.bytes(33)
      if let pair = try Obfs4KeyPair(secret: [UInt8](drawn.prefix(32)), tweak: drawn[32]) { return pair }
    }
  }

  /// Creates a key pair; nil if the public key has no representative, which is the case for every second key. The bits
  /// that clamping drops choose the point of low order. The lowest and the two highest bits of the tweak choose the
  /// representative.
  package init?(secret: [UInt8], tweak: UInt8) throws(Obfs4Failure) {
    let clean = try Obfs4Primitives.publicKey(of: secret)
    publicKey = try Obfs4Primitives.sum(of: clean, lowOrder: secret[0] & 7)
    guard let representative = try Obfs4Primitives.representative(of: publicKey, tweak: tweak) else { return nil }
    self.representative = representative
    self.secret = secret
  }

  /// Creates a key pair from parts that were generated elsewhere and match each other.
  package init(secret: [UInt8], publicKey: [UInt8], representative: [UInt8]) {
    self.secret = secret
    self.publicKey = publicKey
    self.representative = representative
  }
}
