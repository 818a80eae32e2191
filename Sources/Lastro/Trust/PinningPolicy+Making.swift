// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension PinningPolicy {
  /// Makes a policy for a host.
  ///
  /// ```swift
  /// let policy = try PinningPolicy("api.example.com", pins: ["sha256/…", "sha256/…"])
  /// ```
  ///
  /// - Parameters:
  ///   - host: its name, in any case, also international, without scheme, port or wildcard; or an IP address.
  ///   - includeSubdomains: whether the policy also holds for every host below, at any depth. Default `false`. Refused
  ///     for addresses, and for names below which anyone may register one.
  ///   - expiration: until when it holds, and what is then. Default ``Expiration/never``.
  ///   - pins: as `sha256/` and Base64, or the Base64 alone (``SPKIHash/init(_:)-(String)``).
  ///   - enforceBackupPin: whether two different pins are demanded, as RFC 7469 §2.5 has it: with a single key, its
  ///     loss cuts off the host. Default `true`.
  ///   - mode: what is done with a server that presents none of the keys. Default ``Mode/enforce``.
  /// - Throws: ``PinningPolicyValidationError``; of the host first, then of the pins.
  public init(
    _ host: String, includeSubdomains: Bool = false, expiration: Expiration = .never, pins: some Sequence<String>,
    enforceBackupPin: Bool = true, mode: Mode = .enforce
  ) throws(PinningPolicyValidationError) {
    let name: HostName
    if let address = try? Self.address(host) {
      guard !includeSubdomains else { throw .subdomainsOfAddress }
      name = address
    } else {
      name = try Self.domain(host, includeSubdomains: includeSubdomains)
    }
    try self.init(name, includeSubdomains, expiration, try Self.read(Set(pins)), enforceBackupPin, mode)
  }

  /// Makes a policy for a host by its name.
  ///
  /// The parameters are those of ``init(_:includeSubdomains:expiration:pins:enforceBackupPin:mode:)``. Refused with
  /// subdomains are names below which anyone may register a name, by the machine's public suffix list: where there is
  /// none, names of one label only.
  ///
  /// - Throws: ``PinningPolicyValidationError``; of the domain first, then of the pins.
  public init(
    domainName: String, includeSubdomains: Bool = false, expiration: Expiration = .never, pinnedHashes: Set<String>,
    enforceBackupPin: Bool = true, mode: Mode = .enforce
  ) throws(PinningPolicyValidationError) {
    try self.init(
      domainName: domainName, includeSubdomains: includeSubdomains, expiration: expiration, pinnedHashes: pinnedHashes,
      enforceBackupPin: enforceBackupPin, mode: mode, publicSuffixes: .system)
  }

  /// The same, with another list of public suffixes.
  package init(
    domainName: String, includeSubdomains: Bool = false, expiration: Expiration = .never, pinnedHashes: Set<String>,
    enforceBackupPin: Bool = true, mode: Mode = .enforce, publicSuffixes: PublicSuffixList
  ) throws(PinningPolicyValidationError) {
    let host = try Self.domain(domainName, includeSubdomains: includeSubdomains, publicSuffixes)
    try self.init(host, includeSubdomains, expiration, try Self.read(pinnedHashes), enforceBackupPin, mode)
  }

  /// Makes a policy for a host by its name, of pins that have been read already, such as those of a PEM file.
  ///
  /// The parameters are those of ``init(_:includeSubdomains:expiration:pins:enforceBackupPin:mode:)``.
  ///
  /// - Throws: ``PinningPolicyValidationError``; of the domain first, then of the pins.
  public init(
    domainName: String, includeSubdomains: Bool = false, expiration: Expiration = .never, pins: Set<SPKIHash>,
    enforceBackupPin: Bool = true, mode: Mode = .enforce
  ) throws(PinningPolicyValidationError) {
    let host = try Self.domain(domainName, includeSubdomains: includeSubdomains)
    try self.init(host, includeSubdomains, expiration, pins, enforceBackupPin, mode)
  }

  /// Makes a policy for an IP address, of pins that have been read already.
  ///
  /// The parameters are those of ``init(_:includeSubdomains:expiration:pins:enforceBackupPin:mode:)``.
  ///
  /// - Throws: ``PinningPolicyValidationError``; of the address first, then of the pins.
  public init(
    ipAddress: String, expiration: Expiration = .never, pins: Set<SPKIHash>, enforceBackupPin: Bool = true,
    mode: Mode = .enforce
  ) throws(PinningPolicyValidationError) {
    try self.init(try Self.address(ipAddress), false, expiration, pins, enforceBackupPin, mode)
  }

  /// Makes a policy for an IP address, which no policy for a name ever matches (RFC 7469 §2.1).
  ///
  /// Its server needs a certificate that is for the address.
  ///
  /// The parameters are those of ``init(_:includeSubdomains:expiration:pins:enforceBackupPin:mode:)``.
  ///
  /// - Throws: ``PinningPolicyValidationError``; of the address first, then of the pins.
  public init(
    ipAddress: String, expiration: Expiration = .never, pinnedHashes: Set<String>, enforceBackupPin: Bool = true,
    mode: Mode = .enforce
  ) throws(PinningPolicyValidationError) {
    let host = try Self.address(ipAddress)
    try self.init(host, false, expiration, try Self.read(pinnedHashes), enforceBackupPin, mode)
  }

  /// Makes a policy that takes a host out of its parent's: chain and host name suffice for it.
  ///
  /// - Parameters:
  ///   - domainName: the name.
  ///   - includeSubdomains: whether the hosts below are taken out as well. Default `false`.
  /// - Throws: ``PinningPolicyValidationError`` of the domain.
  public static func excluding(
    domainName: String, includeSubdomains: Bool = false
  ) throws(PinningPolicyValidationError) -> PinningPolicy {
    PinningPolicy(
      host: try domain(domainName, includeSubdomains: includeSubdomains), includeSubdomains: includeSubdomains,
      expiration: .never, pins: [], enforceBackupPin: false, mode: .off)
  }

  /// Makes a policy that says of an IP address that chain and host name suffice, where hosts without a policy are
  /// refused.
  ///
  /// - Parameter ipAddress: an IPv4 or IPv6 address.
  /// - Throws: ``PinningPolicyValidationError`` of the address.
  public static func excluding(ipAddress: String) throws(PinningPolicyValidationError) -> PinningPolicy {
    PinningPolicy(
      host: try address(ipAddress), includeSubdomains: false, expiration: .never, pins: [], enforceBackupPin: false,
      mode: .off)
  }

  private init(
    _ host: HostName, _ includeSubdomains: Bool, _ expiration: Expiration, _ pins: Set<SPKIHash>,
    _ enforceBackupPin: Bool, _ mode: Mode
  ) throws(PinningPolicyValidationError) {
    guard !pins.isEmpty else { throw .emptyPins }
    guard pins.count > 1 || !enforceBackupPin else { throw .missingBackupPin }
    self.init(
      host: host, includeSubdomains: includeSubdomains, expiration: try expiration.inSeconds(), pins: pins,
      enforceBackupPin: enforceBackupPin, mode: mode)
  }

  private static func read(_ hashes: Set<String>) throws(PinningPolicyValidationError) -> Set<SPKIHash> {
    let invalid = hashes.filter { SPKIHash($0) == nil }
    guard invalid.isEmpty else { throw .invalidPins(invalid) }
    // The same key may have been written twice, with and without prefix.
    return Set(hashes.compactMap { SPKIHash($0) })
  }

  private static func domain(
    _ name: String, includeSubdomains: Bool, _ suffixes: @autoclosure () -> PublicSuffixList = .system
  ) throws(PinningPolicyValidationError) -> HostName {
    guard !name.contains("*") else { throw .wildcard(name) }
    let host: HostName
    do {
      host = try HostName(name)
    } catch {
      throw .invalidDomainName(name, error)
    }
    guard !host.isIPAddress else { throw .ipAddress(name) }
    guard includeSubdomains else { return host }
    let suffixes = suffixes()
    guard suffixes.isPublicSuffix(host) else { return host }
    throw suffixes.hasRule(for: host) ? .publicSuffix(host.text) : .singleLabel(host.text)
  }

  private static func address(_ text: String) throws(PinningPolicyValidationError) -> HostName {
    guard let host = try? HostName(text), host.isIPAddress else { throw .notAnIPAddress(text) }
    return host
  }
}

extension PinningPolicy.Expiration {
  /// To the second, as it is written in files.
  fileprivate func inSeconds() throws(PinningPolicyValidationError) -> Self {
    guard let date else { return self }
    let seconds = date.timeIntervalSince1970.rounded(.down)
    guard (0...253_402_300_799).contains(seconds) else { throw .invalidExpiration }
    let rounded = Date(timeIntervalSince1970: seconds)
    return if case .refuse = self { .refuse(after: rounded) } else { .fallBack(after: rounded) }
  }
}
