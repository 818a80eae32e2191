// SPDX-License-Identifier: Apache-2.0

import CLoopback

/// What a leaf says besides its names and dates, for tests of what clients refuse.
public struct CertificateProfile: Sendable, Hashable {
  /// What a certificate may be used for (extended key usage, RFC 5280 §4.2.1.12).
  public enum Usage: Sendable, Hashable, CaseIterable {
    /// `serverAuth`.
    case server
    /// `clientAuth`.
    case client

    var bit: Int32 {
      switch self {
      case .server: Int32(CLOOPBACK_USAGE_SERVER)
      case .client: Int32(CLOOPBACK_USAGE_CLIENT)
      }
    }
  }

  /// Default both. Empty leaves the extension out, which allows any use.
  public var usages: Set<Usage>
  /// Whether it names its own and its issuer's key (subject and authority key identifier). Default true.
  public var hasKeyIdentifiers: Bool
  /// Whether it has an unknown critical extension: such a certificate must be refused. Default false.
  public var hasUnknownCriticalExtension: Bool
  /// Whether it demands a stapled OCSP response (RFC 7633). Default false.
  public var requiresStaple: Bool
  /// Whether it is of version 1: without extensions, hence without subject alternative names. Default false.
  public var isVersion1: Bool

  /// Makes a profile.
  public init(
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
