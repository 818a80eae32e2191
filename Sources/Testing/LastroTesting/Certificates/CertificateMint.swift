// SPDX-License-Identifier: Apache-2.0

import CLoopback

/// Creation of certificates: the interface to OpenSSL behind ``CertificateAuthority`` and
/// ``MintedCertificate``.
package enum CertificateMint {
  /// Creates a self-signed certificate that is not an authority, which a client must refuse.
  ///
  /// - Parameters:
  ///   - hosts: the DNS names and IP addresses of the subject alternative name.
  ///   - validity: the period of validity. Default one year.
  ///   - keyType: the type of the key. Default P-256.
  /// - Throws: ``LoopbackError/invalidCertificate(_:)``.
  package static func selfSigned(
    hosts: [String], validity: CertificateValidity = .days(365), keyType: CertificateKeyType = .p256
  ) throws(LoopbackError) -> MintedCertificate {
    var order = Order(commonName: hosts.first ?? "loopback", validity: validity, keyType: keyType)
    order.hosts = hosts
    let made = try mint(order, issuer: nil)
    return MintedCertificate(certificatePEM: made.certificate, privateKeyPEM: made.key)
  }

  struct Order {
    var commonName: String
    var validity: CertificateValidity
    var keyType: CertificateKeyType
    var hosts: [String] = []
    var isAuthority = false
    var pathLength: Int?
    // RFC 5280 §4.1.2.2: positive, so never 0.
    var serial = UInt64.random(in: 1...UInt64(Int64.max))
    var privateKeyPEM: String?
    var nameConstraints: CertificateNameConstraints?
    var profile = CertificateProfile()

    init(commonName: String, validity: CertificateValidity, keyType: CertificateKeyType) {
      self.commonName = commonName
      self.validity = validity
      self.keyType = keyType
    }
  }

  static func mint(
    _ order: Order, issuer: MintedCertificate?
  ) throws(LoopbackError) -> (certificate: String, key: String) {
    let strings = CStrings()
    let usages = CertificateProfile.Usage.allCases.filter(order.profile.usages.contains).map(\.rawValue)
    var request = cloopback_certificate_request(
      common_name: strings.copy(order.commonName),
      hosts: strings.copy(order.hosts),
      host_count: order.hosts.count,
      not_before: order.validity.notBefore,
      not_after: order.validity.notAfter,
      is_authority: order.isAuthority,
      path_length: Int32(clamping: order.pathLength ?? -1),
      serial: order.serial,
      key_kind: strings.copy(order.keyType.name),
      key_pem: order.privateKeyPEM.map(strings.copy),
      issuer_certificate_pem: (issuer?.certificatePEM).map(strings.copy),
      issuer_key_pem: (issuer?.privateKeyPEM).map(strings.copy),
      permitted: strings.copy(order.nameConstraints?.permitted ?? []),
      permitted_count: order.nameConstraints?.permitted.count ?? 0,
      excluded: strings.copy(order.nameConstraints?.excluded ?? []),
      excluded_count: order.nameConstraints?.excluded.count ?? 0,
      usages: usages.isEmpty ? nil : strings.copy(usages.joined(separator: ",")),
      omits_key_identifiers: !order.profile.hasKeyIdentifiers,
      has_unknown_critical: order.profile.hasUnknownCriticalExtension,
      requires_staple: order.profile.requiresStaple,
      is_version1: order.profile.isVersion1,
      alternative_names: order.profile.alternativeNames.map(strings.copy),
      basic_constraints: order.profile.basicConstraints.map(strings.copy),
      key_usage: order.profile.keyUsage.map(strings.copy))
    var certificate: UnsafeMutablePointer<CChar>?
    var key: UnsafeMutablePointer<CChar>?
    defer {
      cloopback_free(certificate)
      cloopback_free(key)
    }
    let problem = ErrorText()
    guard cloopback_mint(&request, &certificate, &key, problem.buffer), let certificate, let key else {
      throw .cannotMint(problem.text)
    }
    return (String(cString: certificate), String(cString: key))
  }
}

extension LoopbackError {
  /// Returns the error of a certificate that OpenSSL failed to make.
  static func cannotMint(_ reason: String) -> Self { .invalidCertificate("the certificate cannot be made: \(reason)") }
}
