// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The client's half of the handshake. Pass received bytes to `receive` until it returns a session.
package struct Obfs4ClientHandshake: Sendable {
  /// The bytes to send first. Send nothing else before the session exists.
  package let hello: [UInt8]

  private let identity: Obfs4Identity
  private let keyPair: Obfs4KeyPair
  /// The hour in the client's MAC. The server responds with the same hour, even if the next one has begun.
  private let hour: Int
  private let lengthOfNonsense: Int
  private var received: [UInt8] = []
  /// The mark of the server's response; empty until the shortest possible response has been received.
  private var mark: [UInt8] = []
  /// The position at which the search for the mark continues.
  private var position = Obfs4Handshake.keyLength + Obfs4Handshake.authenticationLength
  private var isOver = false
  private var failure: Obfs4Failure?

  /// Creates the client's half of a handshake.
  ///
  /// - Parameters:
  ///   - keyPair: a key pair that was made for this attempt.
  ///   - hour: Unix seconds divided by 3600, taken after the connection was made.
  /// - Throws: ``Obfs4Failure/cryptoUnavailable``.
  package init(
    to identity: Obfs4Identity, keyPair: Obfs4KeyPair, hour: Int, random: RandomSource
  ) throws(Obfs4Failure) {
    self.identity = identity
    self.keyPair = keyPair
    self.hour = hour
    let padding = random.bytes(random.number(in: Obfs4Handshake.helloPadding))
    lengthOfNonsense = random.number(in: Obfs4Frame.boxLengths)
    let mark = try Obfs4Handshake.mark(keyPair.representative, identity)
    let message = keyPair.representative + padding + mark
    hello = message + (try Obfs4Handshake.mac(message, hour: hour, identity))
  }

  /// Processes received bytes. Returns nil if more bytes are needed. After a failure, every call throws the same error.
  /// The session is returned only once, because two writers must not use the same key. Bytes received later belong to
  /// the session's reader; passed to this function, they are lost.
  ///
  /// - Throws: ``Obfs4Failure/noMark``, ``Obfs4Failure/wrongMAC``, ``Obfs4Failure/wrongAuthentication``,
  ///   ``Obfs4Failure/zeroSharedSecret``, ``Obfs4Failure/cryptoUnavailable``.
  package mutating func receive(_ bytes: some Collection<UInt8>) throws(Obfs4Failure) -> Obfs4Session? {
    if let failure { throw failure }
    if isOver { return nil }
    received += bytes
    do throws(Obfs4Failure) {
      guard let place = try findMark() else { return nil }
      let session = try authenticatedSession(markAt: place)
      isOver = true
      received = []
      return session
    } catch {
      failure = error
      received = []
      throw error
    }
  }

  /// Returns the position of the mark once the mark and the whole MAC behind it have been received.
  private mutating func findMark() throws(Obfs4Failure) -> Int? {
    guard received.count >= Obfs4Handshake.keyLength + Obfs4Handshake.authenticationLength + Obfs4Handshake.tailLength
    else { return nil }
    if mark.isEmpty { mark = try Obfs4Handshake.mark([UInt8](received.prefix(Obfs4Handshake.keyLength)), identity) }
    let end = min(received.count, Obfs4Handshake.maximumLength) - Obfs4Handshake.tailLength
    while position <= end {
      if received[position] == mark[0], received[position..<position + mark.count].elementsEqual(mark) {
        return position
      }
      position += 1
    }
    if received.count >= Obfs4Handshake.maximumLength { throw .noMark }
    return nil
  }

  private func authenticatedSession(markAt place: Int) throws(Obfs4Failure) -> Obfs4Session {
    let end = place + Obfs4Handshake.tailLength
    let message = [UInt8](received[..<(place + Obfs4Handshake.markLength)])
    let mac = try Obfs4Handshake.mac(message, hour: hour, identity)
    guard Obfs4Primitives.areEqual(mac, [UInt8](received[message.count..<end])) else { throw .wrongMAC }
    let server = try Obfs4Primitives.point(ofRepresentative: [UInt8](message.prefix(Obfs4Handshake.keyLength)))
    let agreement = try Obfs4Agreement(
      ephemeral: Obfs4Primitives.agreement(of: keyPair.secret, with: server),
      fixed: Obfs4Primitives.agreement(of: keyPair.secret, with: identity.publicKey),
      client: keyPair.publicKey, server: server, identity: identity)
    let authentication = message.dropFirst(Obfs4Handshake.keyLength).prefix(Obfs4Handshake.authenticationLength)
    guard Obfs4Primitives.areEqual(agreement.authentication, [UInt8](authentication)) else {
      throw .wrongAuthentication
    }
    return try Obfs4Session(
      keys: agreement.keys(), isClient: true, lengthOfNonsense: lengthOfNonsense, leftover: [UInt8](received[end...]))
  }
}
