// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LastroTesting
import Testing

@testable import Lastro

@Suite("Trust: the end of certificates")
struct CertificateExpiryTests {
  private static let now = Date(timeIntervalSince1970: 1_700_000_000)

  /// Returns the expiry of a certificate that was valid for `period` seconds when it was new, and is for `left` more.
  private func expiry(_ period: TimeInterval, left: TimeInterval) throws -> CertificateExpiry {
    let end = Int64(Self.now.timeIntervalSince1970 + left)
    let certificate = try CertificateAuthority().issue(
      hosts: [], validity: CertificateValidity(notBefore: end - Int64(period), notAfter: end),
      profile: CertificateProfile())
    let read = try PeerCertificate.certificates(pem: certificate.certificatePEM)[0]
    return CertificateExpiry(of: try #require(read.facts))
  }

  @Test(
    "The end is announced for the last fifth of the validity, and for 14 days at most",
    arguments: [
      // A year, a month, and an hour; in seconds.
      (31_536_000.0, 1_209_601.0, false), (31_536_000, 1_209_600, true), (2_592_000, 518_401, false),
      (2_592_000, 518_400, true), (3_600, 721, false), (3_600, 720, true), (3_600, -1, true),
    ])
  func notice(period: Double, left: Double, isAnnounced: Bool) throws {
    #expect(try expiry(period, left: left).isAnnounced(at: Self.now) == isAnnounced)
  }

  @Test(
    "The time left is a text in whole units",
    arguments: [
      (1_209_600.0, "expires in 14 days"), (172_799, "expires in 1 day"), (86_399, "expires in 23 hours"),
      (3_600, "expires in 1 hour"), (3_599, "expires in 59 minutes"), (59, "expires in less than a minute"),
      (0, "expires in less than a minute"), (-1, "has expired"),
    ])
  func text(left: Double, text: String) throws {
    #expect(try expiry(31_536_000, left: left).text(at: Self.now) == text)
  }
}
