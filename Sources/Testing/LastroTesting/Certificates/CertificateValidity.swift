// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The period of validity of a certificate, to the second.
public struct CertificateValidity: Sendable, Hashable {
  /// The first second of validity, since 1970 (`notBefore`).
  package var notBefore: Int64
  /// The last second of validity, since 1970 (`notAfter`).
  package var notAfter: Int64

  /// Creates a period from seconds since 1970.
  package init(notBefore: Int64, notAfter: Int64) {
    self.notBefore = notBefore
    self.notAfter = notAfter
  }

  /// Returns a period from an hour ago until the given number of days from now.
  public static func days(_ days: Int) -> Self {
    let now = Self.now
    return Self(notBefore: now - 3600, notAfter: now + Int64(days) * day)
  }

  /// A period of a year that ended a day ago.
  public static var expired: Self { Self(notBefore: now - 366 * day, notAfter: now - day) }

  /// A period that begins tomorrow.
  public static var notYetValid: Self { Self(notBefore: now + day, notAfter: now + 366 * day) }

  static var now: Int64 { Int64(time(nil)) }

  private static let day: Int64 = 86_400
}
