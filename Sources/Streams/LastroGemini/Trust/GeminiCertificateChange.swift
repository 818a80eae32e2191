// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import Lastro

/// A host that presents a different key than the known one, before the old certificate has expired.
public struct GeminiCertificateChange: Sendable, Hashable, CustomStringConvertible {
  /// The host.
  package var host: GeminiHost
  /// The known key.
  package var known: GeminiKnownHost
  /// The presented key.
  package var presented: GeminiKnownHost
  /// The presented certificate.
  public var certificate: PeerCertificate

  /// Creates a change, for tests.
  package init(
    host: GeminiHost, known: GeminiKnownHost, presented: GeminiKnownHost, certificate: PeerCertificate
  ) {
    self.host = host
    self.known = known
    self.presented = presented
    self.certificate = certificate
  }

  /// A sentence with both keys.
  public var description: String {
    "\(host) is known by the key \(known.pin) until \(known.expires.inCalendar), and shows the key \(presented.pin)"
  }
}
