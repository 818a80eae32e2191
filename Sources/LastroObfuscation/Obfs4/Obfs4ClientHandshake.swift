// SPDX-License-Identifier: Apache-2.0

/// The client's half of the handshake. Feed it what comes until it answers a session.
package struct Obfs4ClientHandshake: Sendable {
  /// What is written first, at once, and nothing behind it before the session is there.
  package let hello: [UInt8]

  /// - Parameters:
  ///   - keyPair: Fresh for each attempt.
  ///   - hour: Unix seconds divided by 3600, taken after the connection was made.
  /// - Throws: ``Obfs4Failure/cryptoUnavailable``.
  package init(
    to identity: Obfs4Identity, keyPair: Obfs4KeyPair, hour: Int, random: inout some Obfs4Random
  ) throws(Obfs4Failure) {
    throw .cryptoUnavailable
  }

  /// nil: more is wanted. After a failure every call throws the same; after the session it is not to be called.
  ///
  /// - Throws: ``Obfs4Failure/noMark``, ``Obfs4Failure/wrongMAC``, ``Obfs4Failure/wrongAuthentication``,
  ///   ``Obfs4Failure/zeroSharedSecret``, ``Obfs4Failure/cryptoUnavailable``.
  package mutating func receive(_ bytes: some Collection<UInt8>) throws(Obfs4Failure) -> Obfs4Session? {
    throw .cryptoUnavailable
  }
}
