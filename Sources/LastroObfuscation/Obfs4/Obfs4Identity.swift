// SPDX-License-Identifier: Apache-2.0

/// What a client knows of a bridge: its certificate.
package struct Obfs4Identity: Sendable, Hashable {
  package static let nodeIDLength = 20
  package static let publicKeyLength = 32

  package let nodeID: [UInt8]
  package let publicKey: [UInt8]

  /// nil where a length is another.
  package init?(nodeID: [UInt8], publicKey: [UInt8]) {
    guard nodeID.count == Self.nodeIDLength, publicKey.count == Self.publicKeyLength else { return nil }
    self.nodeID = nodeID
    self.publicKey = publicKey
  }

  /// From the 52 bytes that a certificate's base64 has; nil where there are more or fewer.
  package init?(certificate: [UInt8]) {
    self.init(
      nodeID: [UInt8](certificate.prefix(Self.nodeIDLength)),
      publicKey: [UInt8](certificate.dropFirst(Self.nodeIDLength)))
  }

  package var certificate: [UInt8] { nodeID + publicKey }
}

/// What a bridge knows of itself.
package struct Obfs4ServerIdentity: Sendable {
  package let identity: Obfs4Identity
  let secret: [UInt8]

  /// - Throws: ``Obfs4Failure/cryptoUnavailable``, also where a length is another than 20 and 32.
  package init(nodeID: [UInt8], secret: [UInt8]) throws(Obfs4Failure) {
    throw .cryptoUnavailable
  }
}
