// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Which keys a host must present: one of the keys of its verified chain must be pinned here.
///
/// ```swift
/// let policy = try PinningPolicy(
///   domainName: "example.com",
///   includeSubdomains: true,
///   pinnedHashes: [
///     "sha256/r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=",
///     "sha256/YLh1dUR9y6Kja30RrAn7JKnbQG/uEtLMkBgFF2Fuihg=",  // the backup, whose private key lies in a safe
///   ])
/// ```
///
/// Two policies are equal when all they say is.
public struct PinningPolicy: Sendable, Hashable {
  /// What a policy means after its last moment. Dates are of 1970 to 9999, and count to the second, rounded down.
  public enum Expiration: Sendable, Hashable {
    /// It holds until it is replaced.
    case never
    /// Afterwards the host is refused until there is a new policy. An app that does not renew it in time is cut off.
    case refuse(after: Date)
    /// Afterwards chain and host name suffice, also where a policy for a parent would pin the host. An app that does
    /// not renew it in time is unprotected.
    case fallBack(after: Date)

    /// The last moment at which the pins hold; `nil` for ``never``.
    public var date: Date? {
      switch self {
      case .never: nil
      case .refuse(let date), .fallBack(let date): date
      }
    }
  }

  /// What is done with a server that presents none of the keys.
  public enum Mode: String, Sendable, Hashable, CaseIterable {
    /// It is refused, and reported.
    case enforce
    /// It is reported, and accepted: for trying a policy out.
    case reportOnly
    /// Nothing: chain and host name suffice, also where a policy for a parent would pin the host.
    case off
  }

  /// The host, by its canonical name.
  public let host: HostName
  /// Whether it also holds for every host below, at any depth, that has no policy closer to it. It always holds for
  /// ``host`` itself. Refused where the host is a public suffix by the machine's list
  /// (`/usr/share/publicsuffix/public_suffix_list.dat`); without that file `co.uk` passes.
  public let includeSubdomains: Bool
  /// Until when it holds, and what is then.
  public let expiration: Expiration
  /// The pins. Empty only in a policy that excludes a host.
  public let pins: Set<SPKIHash>
  /// Whether it was demanded that there be two different pins.
  public let enforceBackupPin: Bool
  /// What is done with a server that presents none of the keys.
  public let mode: Mode

  init(
    host: HostName, includeSubdomains: Bool, expiration: Expiration, pins: Set<SPKIHash>, enforceBackupPin: Bool,
    mode: Mode
  ) {
    self.host = host
    self.includeSubdomains = includeSubdomains
    self.expiration = expiration
    self.pins = pins
    self.enforceBackupPin = enforceBackupPin
    self.mode = mode
  }

  /// Whether its last moment has passed.
  public func isExpired(at date: Date) -> Bool { expiration.date.map { $0 < date } ?? false }
}
