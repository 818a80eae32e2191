// SPDX-License-Identifier: Apache-2.0

/// A certificate authority made for a test: a root, or an intermediate below one.
///
/// ```swift
/// let root = try CertificateAuthority(commonName: "Test root")
/// let leaf = try root.intermediate(commonName: "Test intermediate").issue(hosts: ["localhost", "127.0.0.1"])
/// ```
///
/// A value: it may be copied and used from any thread.
public struct CertificateAuthority: Sendable, Hashable {
  /// Its own certificate and key.
  public let identity: MintedCertificate
  /// The root it leads to: its own certificate for a root. What a client is told to trust.
  public let rootPEM: String

  /// Its own certificate.
  public var certificatePEM: String { identity.certificatePEM }

  /// Makes a self-signed root.
  ///
  /// - Parameters:
  ///   - keyType: default P-256.
  ///   - validity: default ten years.
  ///   - pathLength: most intermediates below it; default no limit.
  /// - Throws: ``CertificateError/cannotMint(_:)``.
  public init(
    commonName: String = "Loopback root", keyType: CertificateKeyType = .p256,
    validity: CertificateValidity = .days(3650), pathLength: Int? = nil
  ) throws(CertificateError) {
    var order = CertificateMint.Order(commonName: commonName, validity: validity, keyType: keyType)
    order.isAuthority = true
    order.pathLength = pathLength
    let made = try CertificateMint.mint(order, issuer: nil)
    identity = MintedCertificate(certificatePEM: made.certificate, privateKeyPEM: made.key, chainPEM: made.certificate)
    rootPEM = made.certificate
  }

  private init(identity: MintedCertificate, rootPEM: String) {
    self.identity = identity
    self.rootPEM = rootPEM
  }

  /// Makes an authority below this one.
  ///
  /// - Parameters:
  ///   - validity: default five years.
  ///   - pathLength: most intermediates below it; default no limit.
  /// - Throws: ``CertificateError/cannotMint(_:)``.
  public func intermediate(
    commonName: String = "Loopback intermediate", keyType: CertificateKeyType = .p256,
    validity: CertificateValidity = .days(1825), pathLength: Int? = nil
  ) throws(CertificateError) -> CertificateAuthority {
    var order = CertificateMint.Order(commonName: commonName, validity: validity, keyType: keyType)
    order.isAuthority = true
    order.pathLength = pathLength
    return CertificateAuthority(identity: try mint(order), rootPEM: rootPEM)
  }

  /// Issues a certificate for servers and clients alike (`serverAuth`, `clientAuth`).
  ///
  /// - Parameters:
  ///   - hosts: DNS names and IP addresses of the subject alternative name. Empty for none, as for a client.
  ///   - commonName: default: the first host.
  ///   - validity: default one year.
  ///   - keyType: default P-256.
  ///   - serial: default a random one.
  ///   - privateKeyPEM: a key to certify instead of a new one, as when a certificate is renewed and its pin stays.
  /// - Throws: ``CertificateError/cannotMint(_:)``.
  public func issue(
    hosts: [String], commonName: String? = nil, validity: CertificateValidity = .days(365),
    keyType: CertificateKeyType = .p256, serial: UInt64? = nil, privateKeyPEM: String? = nil
  ) throws(CertificateError) -> MintedCertificate {
    var order = CertificateMint.Order(
      commonName: commonName ?? hosts.first ?? "loopback", validity: validity, keyType: keyType)
    order.hosts = hosts
    order.serial = serial ?? order.serial
    order.privateKeyPEM = privateKeyPEM
    return try mint(order)
  }

  private func mint(_ order: CertificateMint.Order) throws(CertificateError) -> MintedCertificate {
    let made = try CertificateMint.mint(order, issuer: identity)
    let above = identity.certificatePEM == rootPEM ? "" : identity.chainPEM
    return MintedCertificate(
      certificatePEM: made.certificate, privateKeyPEM: made.key, chainPEM: made.certificate + above)
  }
}
