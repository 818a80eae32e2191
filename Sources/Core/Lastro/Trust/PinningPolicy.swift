// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The keys that are pinned for a host: one of the keys in the host's verified chain must be among them.
///
/// ```swift
/// let policy = try PinningPolicy(
///   domainName: "example.com",
///   includeSubdomains: true,
///   pinnedHashes: [
///     "sha256/r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=",
///     "sha256/YLh1dUR9y6Kja30RrAn7JKnbQG/uEtLMkBgFF2Fuihg=",  // the backup, whose private key is kept in a safe
///   ])
/// ```
///
/// Two policies are equal if all their members are equal.
public struct PinningPolicy: Sendable, Hashable {
  /// The expiration of a policy, and its effect afterwards. Dates must be in the years 1970 to 9999, and are rounded
  /// down to the second.
  public enum Expiration: Sendable, Hashable {
    /// The policy applies until it is replaced.
    case never
    /// After the date, the host is refused until there is a new policy. An app that does not renew the policy in time
    /// can no longer reach the host.
    case refuse(after: Date)
    /// After the date, a valid chain and host name are sufficient, even if a parent's policy would pin the host. An app
    /// that does not renew the policy in time is unprotected.
    case fallBack(after: Date)

    /// The last moment at which the policy applies; `nil` for ``never``.
    public var date: Date? {
      switch self {
      case .never: nil
      case .refuse(let date), .fallBack(let date): date
      }
    }
  }

  /// The handling of a server that presents none of the keys.
  public enum Mode: String, Sendable, Hashable, CaseIterable {
    /// The server is refused and reported.
    case enforce
    /// The server is reported but accepted, for trying out a policy.
    case reportOnly
    /// The policy checks nothing: a valid chain and host name are sufficient, even if a parent's policy would pin the
    /// host.
    case off
  }

  /// The host, by its canonical name.
  public let host: HostName
  /// Whether the policy also applies to every host below ``host``, at any depth, that has no policy closer to it. The
  /// policy always applies to ``host`` itself. Subdomains are rejected if the host is a public suffix according to the
  /// machine's list (`/usr/share/publicsuffix/public_suffix_list.dat`); without that file, `co.uk` is accepted.
  public let includeSubdomains: Bool
  /// The last moment of the policy, and its effect afterwards.
  public let expiration: Expiration
  /// The pins. They are empty only in a policy that excludes a host.
  public let pins: Set<SPKIHash>
  /// Whether the policy was created with the requirement of two different pins.
  public let enforceBackupPin: Bool
  /// The handling of a server that presents none of the keys.
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

  /// Returns whether the last moment of the policy has passed.
  public func isExpired(at date: Date) -> Bool { expiration.date.map { $0 < date } ?? false }
}
