// SPDX-License-Identifier: Apache-2.0

/// What a server does wrong, to try its client.
package struct Obfs4ServerFaults: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// One bit of the mark.
  package static let mark = Self(rawValue: 1)
  /// One bit of the MAC.
  package static let mac = Self(rawValue: 2)
  /// One bit of AUTH, under a right MAC.
  package static let authentication = Self(rawValue: 4)
  /// The MAC is made over the hour after the client's.
  package static let hour = Self(rawValue: 8)
}

/// What a server answers a hello.
package struct Obfs4ServerAnswer: ~Copyable, Sendable {
  /// What is written first. A seed's frame, of the session's writer, comes in the same write.
  package let response: [UInt8]
  package var session: Obfs4Session

  /// The session alone.
  package consuming func takeSession() -> Obfs4Session { session }
}

/// The server's half of the handshake, for loopback servers and tests. Feed it what comes until it answers.
package struct Obfs4ServerHandshake: Sendable {
  /// - Parameters:
  ///   - hour: Of the server's clock.
  ///   - paddingLength: Of the response; drawn of 0…8051 where nil. 8096 is the most that a client takes.
  /// - Throws: ``Obfs4Failure/cryptoUnavailable``.
  package init(
    as identity: Obfs4ServerIdentity, keyPair: Obfs4KeyPair, hour: Int, paddingLength: Int? = nil,
    faults: Obfs4ServerFaults = [], random: inout some Obfs4Random
  ) throws(Obfs4Failure) {
    throw .cryptoUnavailable
  }

  /// nil: more is wanted. A server that is not to be found out stays silent after a failure, as it does while it waits.
  ///
  /// - Throws: ``Obfs4Failure/noMark`` (8192 bytes and no mark at their end), ``Obfs4Failure/wrongMAC`` (also of an
  ///   hour that is not the server's, the one before or the one after), ``Obfs4Failure/replayed``,
  ///   ``Obfs4Failure/zeroSharedSecret``, ``Obfs4Failure/cryptoUnavailable``.
  package mutating func receive(
    _ bytes: some Collection<UInt8>, seen: inout Obfs4ReplayFilter
  ) throws(Obfs4Failure) -> Obfs4ServerAnswer? {
    throw .cryptoUnavailable
  }
}
