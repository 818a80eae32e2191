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
  /// Common name of its subject.
  public let commonName: String
  /// The root it leads to: its own certificate for a root. What a client is told to trust.
  public let rootPEM: String

  /// Its own certificate.
  public var certificatePEM: String { identity.certificatePEM }

  /// Makes a self-signed root.
  ///
  /// - Parameters:
  ///   - commonName: the subject's name.
  ///   - keyType: default P-256.
  ///   - validity: default ten years.
  ///   - pathLength: most intermediates below it; default no limit.
  ///   - nameConstraints: which names certificates below it may be for; default any.
  /// - Throws: ``CertificateError/cannotMint(_:)``.
  public init(
    commonName: String = "Loopback root", keyType: CertificateKeyType = .p256,
    validity: CertificateValidity = .days(3650), pathLength: Int? = nil,
    nameConstraints: CertificateNameConstraints? = nil
  ) throws(CertificateError) {
    var order = CertificateMint.Order(commonName: commonName, validity: validity, keyType: keyType)
    order.isAuthority = true
    order.pathLength = pathLength
    order.nameConstraints = nameConstraints
    let made = try CertificateMint.mint(order, issuer: nil)
    identity = MintedCertificate(certificatePEM: made.certificate, privateKeyPEM: made.key, chainPEM: made.certificate)
    rootPEM = made.certificate
    self.commonName = commonName
  }

  private init(identity: MintedCertificate, commonName: String, rootPEM: String) {
    self.identity = identity
    self.commonName = commonName
    self.rootPEM = rootPEM
  }

  /// Makes an authority below this one.
  ///
  /// - Parameters:
  ///   - commonName: the subject's name.
  ///   - keyType: default P-256.
  ///   - validity: default five years.
  ///   - pathLength: most intermediates below it; default no limit.
  ///   - nameConstraints: which names certificates below it may be for; default any.
  /// - Throws: ``CertificateError/cannotMint(_:)``.
  public func intermediate(
    commonName: String = "Loopback intermediate", keyType: CertificateKeyType = .p256,
    validity: CertificateValidity = .days(1825), pathLength: Int? = nil,
    nameConstraints: CertificateNameConstraints? = nil
  ) throws(CertificateError) -> CertificateAuthority {
    var order = CertificateMint.Order(commonName: commonName, validity: validity, keyType: keyType)
    order.isAuthority = true
    order.pathLength = pathLength
    order.nameConstraints = nameConstraints
    return CertificateAuthority(identity: try mint(order), commonName: commonName, rootPEM: rootPEM)
  }

  /// Certifies this authority's name and key under another one, so that what it has issued leads to that one's root
  /// too.
  ///
  /// A server sends the result along: `leaf.adding(try old.crossSigned(by: new))`.
  ///
  /// - Parameters:
  ///   - other: the authority that signs.
  ///   - validity: default five years.
  ///   - pathLength: most intermediates below it; default no limit.
  ///   - nameConstraints: which names certificates below it may be for; default any.
  /// - Throws: ``CertificateError/cannotMint(_:)``.
  public func crossSigned(
    by other: CertificateAuthority, validity: CertificateValidity = .days(1825), pathLength: Int? = nil,
    nameConstraints: CertificateNameConstraints? = nil
  ) throws(CertificateError) -> MintedCertificate {
    var order = CertificateMint.Order(commonName: commonName, validity: validity, keyType: .p256)
    order.isAuthority = true
    order.pathLength = pathLength
    order.nameConstraints = nameConstraints
    order.privateKeyPEM = identity.privateKeyPEM
    return try other.mint(order)
  }

  /// Issues a certificate, by default for servers and clients alike (`serverAuth`, `clientAuth`).
  ///
  /// - Parameters:
  ///   - hosts: DNS names and IP addresses of the subject alternative name. Empty for none, as for a client.
  ///   - commonName: default: the first host.
  ///   - validity: default one year.
  ///   - keyType: default P-256.
  ///   - serial: default a random one.
  ///   - privateKeyPEM: a key to certify instead of a new one, as when a certificate is renewed and its pin stays.
  ///   - profile: what else it says.
  /// - Throws: ``CertificateError/cannotMint(_:)``.
  public func issue(
    hosts: [String], commonName: String? = nil, validity: CertificateValidity = .days(365),
    keyType: CertificateKeyType = .p256, serial: UInt64? = nil, privateKeyPEM: String? = nil,
    profile: CertificateProfile = CertificateProfile()
  ) throws(CertificateError) -> MintedCertificate {
    var order = CertificateMint.Order(
      commonName: commonName ?? hosts.first ?? "loopback", validity: validity, keyType: keyType)
    order.hosts = hosts
    order.serial = serial ?? order.serial
    order.privateKeyPEM = privateKeyPEM
    order.profile = profile
    return try mint(order)
  }

  private func mint(_ order: CertificateMint.Order) throws(CertificateError) -> MintedCertificate {
    let made = try CertificateMint.mint(order, issuer: identity)
    let above = identity.certificatePEM == rootPEM ? "" : identity.chainPEM
    return MintedCertificate(
      certificatePEM: made.certificate, privateKeyPEM: made.key, chainPEM: made.certificate + above)
  }
}
