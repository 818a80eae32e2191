// SPDX-License-Identifier: Apache-2.0

/// What both halves of the handshake have in common.
enum Obfs4Handshake {
  static let keyLength = 32
  static let authenticationLength = 32
  static let markLength = 16
  static let tailLength = 32
  /// The most that a hello or a response has.
  static let maximumLength = 8192
  static let directionKeys = 72
  static let helloPadding = 77...8128
  /// What is sent. Up to 8096 are read.
  static let responsePadding = 0...8051

  static let name = [UInt8]("ntor-curve25519-sha256-1".utf8)

  /// The key of marks and MACs.
  static func key(_ identity: Obfs4Identity) -> [UInt8] { identity.publicKey + identity.nodeID }

  static func mark(_ representative: [UInt8], _ identity: Obfs4Identity) throws(Obfs4Failure) -> [UInt8] {
    [UInt8](try Obfs4Primitives.hmac(key: key(identity), representative).prefix(markLength))
  }

  /// Over everything before it and the hour in decimal digits.
  static func mac(
    _ message: [UInt8], hour: Int, _ identity: Obfs4Identity
  ) throws(Obfs4Failure) -> [UInt8] {
    let digits = [UInt8](String(hour).utf8)
    return [UInt8](try Obfs4Primitives.hmac(key: key(identity), message + digits).prefix(markLength))
  }
}

/// What both sides agree on: ntor, with the inputs in the order that is on the wire.
package struct Obfs4Agreement: Sendable {
  package let keySeed: [UInt8]
  /// Which only the holder of the bridge's secret can make.
  package let authentication: [UInt8]

  /// - Parameters:
  ///   - ephemeral: X25519 of the two keys of the handshake.
  ///   - fixed: X25519 of the client's key and the bridge's.
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

  /// 72 bytes for what the client sends, then 72 for what the server sends.
  package func keys() throws(Obfs4Failure) -> [UInt8] {
    let name = Obfs4Handshake.name
    let keys = KeyDerivation.bytes(
      2 * Obfs4Handshake.directionKeys, hash: .sha256, key: keySeed, salt: name + [UInt8](":key_extract".utf8),
      info: name + [UInt8](":key_expand".utf8))
    guard let keys else { throw .cryptoUnavailable }
    return keys
  }
}
