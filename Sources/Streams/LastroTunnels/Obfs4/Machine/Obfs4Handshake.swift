// SPDX-License-Identifier: Apache-2.0

/// The constants and MACs that both halves of the handshake share.
enum Obfs4Handshake {
  static let keyLength = 32
  static let authenticationLength = 32
  static let markLength = 16
  static let tailLength = 32
  /// The maximum length of a hello or a response.
  static let maximumLength = 8192
  static let directionKeys = 72
  static let helloPadding = 77...8128
  /// The padding lengths of a response that are sent. Up to 8096 bytes are accepted.
  static let responsePadding = 0...8051

  static let name = [UInt8]("ntor-curve25519-sha256-1".utf8)

  /// Returns the key of marks and MACs.
  static func key(_ identity: Obfs4Identity) -> [UInt8] { identity.publicKey + identity.nodeID }

  static func mark(_ representative: [UInt8], _ identity: Obfs4Identity) throws(Obfs4Failure) -> [UInt8] {
    [UInt8](try Obfs4Primitives.hmac(key: key(identity), representative).prefix(markLength))
  }

  /// Returns the MAC over `message` and the hour in decimal digits.
  static func mac(
    _ message: [UInt8], hour: Int, _ identity: Obfs4Identity
  ) throws(Obfs4Failure) -> [UInt8] {
    let digits = [UInt8](String(hour).utf8)
    return [UInt8](try Obfs4Primitives.hmac(key: key(identity), message + digits).prefix(markLength))
  }
}

/// The result of the ntor key agreement, with its inputs in the order that implementations use on the wire.
package struct Obfs4Agreement: Sendable {
  package let keySeed: [UInt8]
  /// The server's proof that it holds the bridge's secret key.
  package let authentication: [UInt8]

  /// Derives the keys and the proof.
  ///
  /// - Parameters:
  ///   - ephemeral: the X25519 secret of both ephemeral keys.
  ///   - fixed: the X25519 secret of the client's ephemeral key and the bridge's key.
  package init(
    ephemeral: [UInt8], fixed: [UInt8], client: [UInt8], server: [UInt8], identity: Obfs4Identity
  ) throws(Obfs4Failure) {
    let name = Obfs4Handshake.name
    let keys = identity.publicKey + identity.publicKey + client + server
    let suffix = keys + name + identity.nodeID
    let input = ephemeral + fixed + suffix
    keySeed = try Obfs4Primitives.hmac(key: name + [UInt8](":key_extract".utf8), input)
    let verify = try Obfs4Primitives.hmac(key: name + [UInt8](":key_verify".utf8), input)
    authentication = try Obfs4Primitives.hmac(
      key: name + [UInt8](":mac".utf8), verify + suffix + [UInt8]("Server".utf8))
  }

  /// Returns 72 bytes of keys for the client's direction, then 72 for the server's.
  package func keys() throws(Obfs4Failure) -> [UInt8] {
    let name = Obfs4Handshake.name
    let keys = KeyDerivation.bytes(
      2 * Obfs4Handshake.directionKeys, hash: .sha256, key: keySeed, salt: name + [UInt8](":key_extract".utf8),
      info: name + [UInt8](":key_expand".utf8))
    guard let keys else { throw .cryptoUnavailable }
    return keys
  }
}
