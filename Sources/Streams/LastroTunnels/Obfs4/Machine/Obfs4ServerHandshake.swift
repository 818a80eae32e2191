// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// Faults that a server can make on purpose, to test its client.
package struct Obfs4ServerFaults: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// A flipped bit in the mark.
  package static let mark = Self(rawValue: 1)
  /// A flipped bit in the MAC.
  package static let mac = Self(rawValue: 2)
  /// A flipped bit in AUTH, under a correct MAC.
  package static let authentication = Self(rawValue: 4)
  /// A MAC over the hour after the client's.
  package static let hour = Self(rawValue: 8)
}

/// A server's answer to a hello.
package struct Obfs4ServerAnswer: ~Copyable, Sendable {
  /// The bytes to send first. Send the seed's frame, made by the session's writer, in the same write.
  package let response: [UInt8]
  package var session: Obfs4Session

  /// Returns the session and discards the response.
  package consuming func takeSession() -> Obfs4Session { session }
}

/// The server's half of the handshake, for loopback servers and tests. Pass received bytes to `receive` until it
/// returns an answer.
package struct Obfs4ServerHandshake: Sendable {
  private static let leastMark = Obfs4Handshake.keyLength + Obfs4Handshake.helloPadding.lowerBound

  private let identity: Obfs4ServerIdentity
  private let keyPair: Obfs4KeyPair
  private let hour: Int
  private let padding: [UInt8]
  private let faults: Obfs4ServerFaults
  private let lengthOfNonsense: Int
  private var received: [UInt8] = []
  private var isOver = false
  private var failure: Obfs4Failure?

  /// Creates the server's half of a handshake.
  ///
  /// - Parameters:
  ///   - hour: the hour of the server's clock.
  ///   - paddingLength: the length of the response's padding. Default nil: drawn from 0…8051. A client accepts up to
  ///     8096.
  package init(
    as identity: Obfs4ServerIdentity, keyPair: Obfs4KeyPair, hour: Int, paddingLength: Int? = nil,
    faults: Obfs4ServerFaults = [], random: RandomSource
  ) {
    self.identity = identity
    self.keyPair = keyPair
    self.hour = hour
    self.faults = faults
    padding = random.bytes(max(0, paddingLength ?? random.number(in: Obfs4Handshake.responsePadding)))
    lengthOfNonsense = random.number(in: Obfs4Frame.boxLengths)
  }

  /// Processes received bytes. Returns nil if more bytes are needed, or if the answer was returned before. To avoid
  /// detection, a server stays silent after a failure, exactly as it does while it waits.
  ///
  /// - Throws: ``Obfs4Failure/noMark`` (8192 bytes without a mark at their end), ``Obfs4Failure/wrongMAC`` (also if the
  ///   hour is not the server's, the previous or the next one), ``Obfs4Failure/replayed``,
  ///   ``Obfs4Failure/zeroSharedSecret``, ``Obfs4Failure/cryptoUnavailable``. Later calls throw the same error.
  package mutating func receive(
    _ bytes: some Collection<UInt8>, seen: inout Obfs4ReplayFilter
  ) throws(Obfs4Failure) -> Obfs4ServerAnswer? {
    if let failure { throw failure }
    if isOver { return nil }
    received += bytes.prefix(Obfs4Handshake.maximumLength + 1 - received.count)
    do throws(Obfs4Failure) {
      guard try isWhole() else { return nil }
      let answer = try answer(try clientHour(&seen))
      isOver = true
      received = []
      return answer
    } catch {
      failure = error
      received = []
      throw error
    }
  }

  /// Returns whether the mark precedes the last 16 bytes. A client sends nothing after its hello before it gets the
  /// response.
  private func isWhole() throws(Obfs4Failure) -> Bool {
    let place = received.count - Obfs4Handshake.tailLength
    guard place >= Self.leastMark else { return false }
    let mark = try Obfs4Handshake.mark([UInt8](received.prefix(Obfs4Handshake.keyLength)), identity.identity)
    if received.count <= Obfs4Handshake.maximumLength,
      Obfs4Primitives.areEqual(mark, [UInt8](received[place..<place + mark.count]))
    {
      return true
    }
    if received.count >= Obfs4Handshake.maximumLength { throw .noMark }
    return false
  }

  /// Returns the hour in the client's MAC: the server's hour, the previous or the next one.
  private func clientHour(_ seen: inout Obfs4ReplayFilter) throws(Obfs4Failure) -> Int {
    let message = [UInt8](received.dropLast(Obfs4Handshake.markLength))
    let mac = [UInt8](received.suffix(Obfs4Handshake.markLength))
    for candidate in [hour, hour &- 1, hour &+ 1] {
      let expected = try Obfs4Handshake.mac(message, hour: candidate, identity.identity)
      guard Obfs4Primitives.areEqual(expected, mac) else { continue }
      guard seen.isNew(mac, hour: hour) else { throw .replayed }
      return candidate
    }
    throw .wrongMAC
  }

  private func answer(_ clientHour: Int) throws(Obfs4Failure) -> Obfs4ServerAnswer {
    let client = try Obfs4Primitives.point(ofRepresentative: [UInt8](received.prefix(Obfs4Handshake.keyLength)))
    let agreement = try Obfs4Agreement(
      ephemeral: Obfs4Primitives.agreement(of: keyPair.secret, with: client),
      fixed: Obfs4Primitives.agreement(of: identity.secret, with: client),
      client: client, server: keyPair.publicKey, identity: identity.identity)
    let session = try Obfs4Session(
      keys: agreement.keys(), isClient: false, lengthOfNonsense: lengthOfNonsense, leftover: [])
    return Obfs4ServerAnswer(response: try response(agreement, clientHour), session: session)
  }

  private func response(_ agreement: Obfs4Agreement, _ clientHour: Int) throws(Obfs4Failure) -> [UInt8] {
    var authentication = agreement.authentication
    if faults.contains(.authentication) { authentication[0] ^= 1 }
    var mark = try Obfs4Handshake.mark(keyPair.representative, identity.identity)
    if faults.contains(.mark) { mark[0] ^= 1 }
    let message = keyPair.representative + authentication + padding + mark
    let signedHour = faults.contains(.hour) ? clientHour &+ 1 : clientHour
    var mac = try Obfs4Handshake.mac(message, hour: signedHour, identity.identity)
    if faults.contains(.mac) { mac[0] ^= 1 }
    return message + mac
  }
}
