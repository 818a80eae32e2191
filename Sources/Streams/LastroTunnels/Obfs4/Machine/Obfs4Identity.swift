// SPDX-License-Identifier: Apache-2.0

/// A bridge's public identity, which its certificate contains.
package struct Obfs4Identity: Sendable, Hashable {
  private static let nodeIDLength = 20
  private static let publicKeyLength = 32

  package let nodeID: [UInt8]
  package let publicKey: [UInt8]

  /// Creates an identity; nil if either length is wrong.
  package init?(nodeID: [UInt8], publicKey: [UInt8]) {
    guard nodeID.count == Self.nodeIDLength, publicKey.count == Self.publicKeyLength else { return nil }
    self.nodeID = nodeID
    self.publicKey = publicKey
  }

  /// Creates an identity from the 52 bytes that a certificate's base64 encodes; nil if the length differs.
  package init?(certificate: [UInt8]) {
    self.init(
      nodeID: [UInt8](certificate.prefix(Self.nodeIDLength)),
      publicKey: [UInt8](certificate.dropFirst(Self.nodeIDLength)))
  }

  package var certificate: [UInt8] { nodeID + publicKey }
}

/// A bridge's own identity, with its secret key.
package struct Obfs4ServerIdentity: Sendable {
  package let identity: Obfs4Identity
  let secret: [UInt8]

  /// Creates an identity; nil unless the lengths are 20 and 32.
  ///
  /// - Throws: ``Obfs4Failure/cryptoUnavailable``.
  package init?(nodeID: [UInt8], secret: [UInt8]) throws(Obfs4Failure) {
    guard secret.count == 32 else { return nil }
    let publicKey = try Obfs4Primitives.publicKey(of: secret)
    guard let identity = Obfs4Identity(nodeID: nodeID, publicKey: publicKey) else { return nil }
    self.identity = identity
    self.secret = secret
  }
}
