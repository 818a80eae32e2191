// SPDX-License-Identifier: Apache-2.0

/// The contents of a leaf besides its names and dates, for tests of certificates that clients refuse.
package struct CertificateProfile: Sendable, Hashable {
  /// A purpose of a certificate (extended key usage, RFC 5280 §4.2.1.12).
  package enum Usage: String, Sendable, Hashable, CaseIterable {
    case server = "serverAuth"
    case client = "clientAuth"
  }

  /// The permitted purposes. Default: both. If empty, the extension is omitted, which permits any purpose.
  package var usages: Set<Usage>
  /// Whether the certificate identifies its own and its issuer's key (subject and authority key identifier). Default
  /// true.
  package var hasKeyIdentifiers: Bool
  /// Whether the certificate has an unknown critical extension, so that it must be refused. Default false.
  package var hasUnknownCriticalExtension: Bool
  /// Whether the certificate requires a stapled OCSP response (RFC 7633). Default false.
  package var requiresStaple: Bool
  /// Whether the certificate has version 1, without extensions and hence without subject alternative names. Default
  /// false.
  package var isVersion1: Bool
  /// The subject alternative names in OpenSSL's notation (x509v3_config(5)), such as `URI:spiffe://example.org/a`, in
  /// place of those of the hosts. Default `nil`.
  package var alternativeNames: String?
  /// The basic constraints in OpenSSL's notation. Default `nil`: critical, and not an authority.
  package var basicConstraints: String?
  /// The key usage in OpenSSL's notation; empty for none. Default `nil`: critical, and `digitalSignature`.
  package var keyUsage: String?

  /// Creates a profile.
  package init(
    usages: Set<Usage> = [.server, .client], hasKeyIdentifiers: Bool = true,
    hasUnknownCriticalExtension: Bool = false, requiresStaple: Bool = false, isVersion1: Bool = false
  ) {
    self.usages = usages
    self.hasKeyIdentifiers = hasKeyIdentifiers
    self.hasUnknownCriticalExtension = hasUnknownCriticalExtension
    self.requiresStaple = requiresStaple
    self.isVersion1 = isVersion1
  }
}
