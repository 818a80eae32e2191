// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro

/// A host that presents a different key than the known one, before the old certificate has expired.
package struct GeminiCertificateChange: Sendable {
  /// The host.
  package var host: GeminiHost
  /// The known key.
  package var known: GeminiKnownHost
  /// The presented key.
  package var presented: GeminiKnownHost

  /// A sentence with both keys.
  var message: String {
    "\(host) is known by the key \(known.pin) until \(known.expires.inCalendar), and shows the key \(presented.pin)"
  }
}
