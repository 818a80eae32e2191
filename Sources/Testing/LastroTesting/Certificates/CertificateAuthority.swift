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
  /// The authority's own certificate and key.
  public let identity: MintedCertificate
  /// The common name of its subject.
  package let commonName: String
  /// The root that the authority leads to; for a root, its own certificate. Clients are configured to trust it.
  public let rootPEM: String

  /// The authority's own certificate.
  package var certificatePEM: String { identity.certificatePEM }

  /// Creates a self-signed root.
  ///
  /// - Parameters:
  ///   - commonName: the subject's name.
  ///   - keyType: the type of the key. Default P-256.
  ///   - days: the days of validity, counted from now; it begins an hour early, because clocks may differ. Default
  ///     `0...3650`. A certificate of `-30 ... -1` has expired, and one of `1...30` is not valid yet.
  ///   - pathLength: the maximum number of intermediates below it. Default: no limit.
  /// - Throws: ``LoopbackError/invalidCertificate(_:)``.
  public init(
    commonName: String = "Loopback root", keyType: CertificateKeyType = .p256,
    days: ClosedRange<Int> = 0...3650, pathLength: Int? = nil
  ) throws(LoopbackError) {
    try self.init(
      commonName: commonName, keyType: keyType, validity: CertificateValidity(days: days), pathLength: pathLength,
      nameConstraints: nil)
  }

  /// - Parameter nameConstraints: the names that certificates below the root may have; `nil` for any.
  package init(
    commonName: String = "Loopback root", keyType: CertificateKeyType = .p256,
    validity: CertificateValidity = .days(3650), pathLength: Int? = nil, nameConstraints: CertificateNameConstraints?
  ) throws(LoopbackError) {
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

  /// Creates an authority below this one.
  ///
  /// - Parameters:
  ///   - commonName: the subject's name.
  ///   - keyType: the type of the key. Default P-256.
  ///   - days: the days of validity, counted from now; it begins an hour early, because clocks may differ. Default
  ///     `0...1825`. A certificate of `-30 ... -1` has expired, and one of `1...30` is not valid yet.
  ///   - pathLength: the maximum number of intermediates below it. Default: no limit.
  /// - Throws: ``LoopbackError/invalidCertificate(_:)``.
  public func intermediate(
    commonName: String = "Loopback intermediate", keyType: CertificateKeyType = .p256,
    days: ClosedRange<Int> = 0...1825, pathLength: Int? = nil
  ) throws(LoopbackError) -> CertificateAuthority {
    try intermediate(
      commonName: commonName, keyType: keyType, validity: CertificateValidity(days: days), pathLength: pathLength,
      nameConstraints: nil)
  }

  /// - Parameter nameConstraints: the names that certificates below the intermediate may have; `nil` for any.
  package func intermediate(
    commonName: String = "Loopback intermediate", keyType: CertificateKeyType = .p256,
    validity: CertificateValidity = .days(1825), pathLength: Int? = nil, nameConstraints: CertificateNameConstraints?
  ) throws(LoopbackError) -> CertificateAuthority {
    var order = CertificateMint.Order(commonName: commonName, validity: validity, keyType: keyType)
    order.isAuthority = true
    order.pathLength = pathLength
    order.nameConstraints = nameConstraints
    return CertificateAuthority(identity: try mint(order), commonName: commonName, rootPEM: rootPEM)
  }

  /// Certifies this authority's name and key under another authority, so that the certificates it has issued also lead
  /// to the other one's root.
  ///
  /// A server sends the result after its chain: `leaf.adding(try old.crossSigned(by: new))`.
  ///
  /// - Parameters:
  ///   - other: the authority that signs.
  ///   - validity: the period of validity. Default five years.
  ///   - pathLength: the maximum number of intermediates below it. Default: no limit.
  ///   - nameConstraints: the names that certificates below it may have. Default: any.
  /// - Throws: ``LoopbackError/invalidCertificate(_:)``.
  package func crossSigned(
    by other: CertificateAuthority, validity: CertificateValidity = .days(1825), pathLength: Int? = nil,
    nameConstraints: CertificateNameConstraints? = nil
  ) throws(LoopbackError) -> MintedCertificate {
    var order = CertificateMint.Order(commonName: commonName, validity: validity, keyType: .p256)
    order.isAuthority = true
    order.pathLength = pathLength
    order.nameConstraints = nameConstraints
    order.privateKeyPEM = identity.privateKeyPEM
    return try other.mint(order)
  }

  /// Issues a certificate, by default for both servers and clients (`serverAuth`, `clientAuth`).
  ///
  /// - Parameters:
  ///   - hosts: the DNS names and IP addresses of the subject alternative name. Empty for none, as for a client.
  ///   - commonName: the common name. Default: the first host.
  ///   - days: the days of validity, counted from now; it begins an hour early, because clocks may differ. Default
  ///     `0...365`. A certificate of `-30 ... -1` has expired, and one of `1...30` is not valid yet.
  ///   - keyType: the type of the key. Default P-256.
  ///   - serial: the serial number. Default: a random one.
  ///   - privateKeyPEM: a key to certify instead of a new one, for example to renew a certificate with the same pin.
  ///   - hasKeyIdentifiers: whether the certificate identifies its own and its issuer's key (subject and authority key
  ///     identifier), as strict clients require. Default true.
  /// - Throws: ``LoopbackError/invalidCertificate(_:)``.
  public func issue(
    hosts: [String], commonName: String? = nil, days: ClosedRange<Int> = 0...365,
    keyType: CertificateKeyType = .p256, serial: UInt64? = nil, privateKeyPEM: String? = nil,
    hasKeyIdentifiers: Bool = true
  ) throws(LoopbackError) -> MintedCertificate {
    try issue(
      hosts: hosts, commonName: commonName, validity: CertificateValidity(days: days), keyType: keyType,
      serial: serial, privateKeyPEM: privateKeyPEM, profile: CertificateProfile(hasKeyIdentifiers: hasKeyIdentifiers))
  }

  /// - Parameter profile: the other contents of the certificate.
  package func issue(
    hosts: [String], commonName: String? = nil, validity: CertificateValidity = .days(365),
    keyType: CertificateKeyType = .p256, serial: UInt64? = nil, privateKeyPEM: String? = nil,
    profile: CertificateProfile
  ) throws(LoopbackError) -> MintedCertificate {
    var order = CertificateMint.Order(
      commonName: commonName ?? hosts.first ?? "loopback", validity: validity, keyType: keyType)
    order.hosts = hosts
    order.serial = serial ?? order.serial
    order.privateKeyPEM = privateKeyPEM
    order.profile = profile
    return try mint(order)
  }

  private func mint(_ order: CertificateMint.Order) throws(LoopbackError) -> MintedCertificate {
    let made = try CertificateMint.mint(order, issuer: identity)
    let above = identity.certificatePEM == rootPEM ? "" : identity.chainPEM
    return MintedCertificate(
      certificatePEM: made.certificate, privateKeyPEM: made.key, chainPEM: made.certificate + above)
  }
}
