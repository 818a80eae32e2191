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

  /// - Parameters:
  ///   - hour: Of the server's clock.
  ///   - paddingLength: Of the response; drawn of 0…8051 where nil. 8096 is the most that a client takes.
  package init(
    as identity: Obfs4ServerIdentity, keyPair: Obfs4KeyPair, hour: Int, paddingLength: Int? = nil,
    faults: Obfs4ServerFaults = [], random: inout some Obfs4Random
  ) {
    self.identity = identity
    self.keyPair = keyPair
    self.hour = hour
    self.faults = faults
    padding = random.fill(max(0, paddingLength ?? random.number(in: Obfs4Handshake.responsePadding)))
    lengthOfNonsense = random.number(in: Obfs4Frame.boxLengths)
  }

  /// nil: more is wanted, or the one answer was given. A server that is not to be found out stays silent after a
  /// failure, as it does while it waits.
  ///
  /// - Throws: ``Obfs4Failure/noMark`` (8192 bytes and no mark at their end), ``Obfs4Failure/wrongMAC`` (also of an
  ///   hour that is not the server's, the one before or the one after), ``Obfs4Failure/replayed``,
  ///   ``Obfs4Failure/zeroSharedSecret``, ``Obfs4Failure/cryptoUnavailable``. From then on it throws the same.
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

  /// Whether the mark stands before the last 16 bytes: nothing comes behind a hello before the response.
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

  /// The hour that the client made its MAC over: the server's, the one before or the one after.
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
