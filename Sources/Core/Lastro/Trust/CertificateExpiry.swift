// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// The end of a certificate's validity, and the time from which on it is announced.
///
/// It is announced for the last fifth of the validity period, and for 14 days at most. So a certificate for a year is
/// announced two weeks ahead, and one for an hour, as SPIFFE agents renew it, only if it was not renewed in time.
package struct CertificateExpiry: Sendable, Hashable {
  private static let longestNotice: TimeInterval = 14 * 86_400

  /// The last moment of the validity period.
  package let end: Date
  /// The first moment at which the end is announced.
  package let noticeBegin: Date

  /// Creates the expiry of a certificate.
  package init(of facts: PeerCertificate.Facts) {
    end = facts.notAfter
    let period = max(0, facts.notAfter.timeIntervalSince(facts.notBefore))
    noticeBegin = end - min(period / 5, Self.longestNotice)
  }

  /// Returns whether the end is to be announced.
  package func isAnnounced(at now: Date) -> Bool { now >= noticeBegin }

  /// Returns the time left as a text: `expires in 3 days`, `expires in 20 minutes`, `has expired`.
  package func text(at now: Date) -> String {
    let left = end.timeIntervalSince(now)
    if left < 0 { return "has expired" }
    for (unit, seconds) in [("day", 86_400.0), ("hour", 3_600), ("minute", 60)] where left >= seconds {
      let count = Int(left / seconds)
      return "expires in \(count) \(unit)\(count == 1 ? "" : "s")"
    }
    return "expires in less than a minute"
  }
}
