// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// From when until when a certificate is valid, to the second.
public struct CertificateValidity: Sendable, Hashable {
  /// First second of validity, since 1970 (`notBefore`).
  public var notBefore: Int64
  /// Last second of validity, since 1970 (`notAfter`).
  public var notAfter: Int64

  /// Makes a period from seconds since 1970.
  public init(notBefore: Int64, notAfter: Int64) {
    self.notBefore = notBefore
    self.notAfter = notAfter
  }

  /// From an hour ago for so many days, counted from now.
  public static func days(_ days: Int) -> Self {
    let now = Self.now
    return Self(notBefore: now - 3600, notAfter: now + Int64(days) * day)
  }

  /// Was valid for a year and ended a day ago.
  public static var expired: Self { Self(notBefore: now - 366 * day, notAfter: now - day) }

  /// Begins tomorrow.
  public static var notYetValid: Self { Self(notBefore: now + day, notAfter: now + 366 * day) }

  static var now: Int64 { Int64(time(nil)) }

  private static let day: Int64 = 86_400
}
