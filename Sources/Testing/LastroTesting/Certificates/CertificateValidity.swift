// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The period of validity of a certificate, to the second.
package struct CertificateValidity: Sendable, Hashable {
  /// The first second of validity, since 1970 (`notBefore`).
  package var notBefore: Int64
  /// The last second of validity, since 1970 (`notAfter`).
  package var notAfter: Int64

  /// Creates a period from seconds since 1970.
  package init(notBefore: Int64, notAfter: Int64) {
    self.notBefore = notBefore
    self.notAfter = notAfter
  }

  /// Creates a period of days, counted from now, that begins an hour early: clocks may differ.
  init(days: ClosedRange<Int>) {
    let now = Self.now
    self.init(
      notBefore: now + Int64(days.lowerBound) * Self.day - 3600, notAfter: now + Int64(days.upperBound) * Self.day)
  }

  /// Returns a period from an hour ago until the given number of days from now.
  package static func days(_ days: Int) -> Self { Self(days: 0...days) }

  /// A period of a year that ended a day ago.
  package static var expired: Self { Self(days: -366 ... -1) }

  /// A period that begins in almost a day.
  package static var notYetValid: Self { Self(days: 1...366) }

  static var now: Int64 { Int64(time(nil)) }

  private static let day: Int64 = 86_400
}
