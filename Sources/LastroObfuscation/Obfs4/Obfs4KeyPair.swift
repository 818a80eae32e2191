// SPDX-License-Identifier: Apache-2.0
private import CLastroObfuscation

/// A key for one handshake, whose public half travels as 32 bytes that look random.
package struct Obfs4KeyPair: Sendable {
  package let secret: [UInt8]
  package let publicKey: [UInt8]
  package let representative: [UInt8]

  /// Makes a key: two tries on average. To be called before dialing, lest the number of tries shows as time.
  ///
  /// - Throws: ``Obfs4Failure/cryptoUnavailable``.
  package static func generate(using random: inout some Obfs4Random) throws(Obfs4Failure) -> Obfs4KeyPair {
    throw .cryptoUnavailable
  }
}
