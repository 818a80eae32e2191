// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

extension PinningPolicy {
  /// Creates a policy for a host.
  ///
  /// ```swift
  /// let policy = try PinningPolicy("api.example.com", pins: ["sha256/…", "sha256/…"])
  /// ```
  ///
  /// - Parameters:
  ///   - host: the host name, in any case, possibly international, without scheme, port or wildcard; or an IP address.
  ///   - includeSubdomains: whether the policy also applies to all hosts below this one, at any depth. Default `false`.
  ///     Rejected for IP addresses, and for names below which anyone may register a name.
  ///   - expiration: the last moment of the policy, and its effect afterwards. Default ``Expiration/never``.
  ///   - pins: the pins, as `sha256/` and Base64, or the Base64 alone (``SPKIHash/init(_:)-(String)``).
  ///   - enforceBackupPin: whether two different pins are required, as in RFC 7469 §2.5: with a single pin, the loss of
  ///     its key makes the host unreachable. Default `true`.
  ///   - mode: the handling of a server that presents none of the keys. Default ``Mode/enforce``.
  /// - Throws: ``PinningPolicyValidationError``. The host is checked first, then the pins.
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

  /// Creates a policy for a host name.
  ///
  /// The parameters are those of ``init(_:includeSubdomains:expiration:pins:enforceBackupPin:mode:)``. With
  /// `includeSubdomains`, names below which anyone may register a name are rejected, according to the machine's public
  /// suffix list. Without such a list, only names of one label are rejected.
  ///
  /// - Throws: ``PinningPolicyValidationError``. The domain is checked first, then the pins.
  public init(
    domainName: String, includeSubdomains: Bool = false, expiration: Expiration = .never, pinnedHashes: Set<String>,
    enforceBackupPin: Bool = true, mode: Mode = .enforce
  ) throws(PinningPolicyValidationError) {
    try self.init(
      domainName: domainName, includeSubdomains: includeSubdomains, expiration: expiration, pinnedHashes: pinnedHashes,
      enforceBackupPin: enforceBackupPin, mode: mode, publicSuffixes: .system)
  }

  /// Creates the same policy with another list of public suffixes.
  package init(
    domainName: String, includeSubdomains: Bool = false, expiration: Expiration = .never, pinnedHashes: Set<String>,
    enforceBackupPin: Bool = true, mode: Mode = .enforce, publicSuffixes: PublicSuffixList
  ) throws(PinningPolicyValidationError) {
    let host = try Self.domain(domainName, includeSubdomains: includeSubdomains, publicSuffixes)
    try self.init(host, includeSubdomains, expiration, try Self.read(pinnedHashes), enforceBackupPin, mode)
  }

  /// Creates a policy for a host name from pins that were already parsed, such as those of a PEM file.
  ///
  /// The parameters are those of ``init(_:includeSubdomains:expiration:pins:enforceBackupPin:mode:)``.
  ///
  /// - Throws: ``PinningPolicyValidationError``. The domain is checked first, then the pins.
  public init(
    domainName: String, includeSubdomains: Bool = false, expiration: Expiration = .never, pins: Set<SPKIHash>,
    enforceBackupPin: Bool = true, mode: Mode = .enforce
  ) throws(PinningPolicyValidationError) {
    let host = try Self.domain(domainName, includeSubdomains: includeSubdomains)
    try self.init(host, includeSubdomains, expiration, pins, enforceBackupPin, mode)
  }

  /// Creates a policy for an IP address from pins that were already parsed.
  ///
  /// The parameters are those of ``init(_:includeSubdomains:expiration:pins:enforceBackupPin:mode:)``.
  ///
  /// - Throws: ``PinningPolicyValidationError``. The address is checked first, then the pins.
  public init(
    ipAddress: String, expiration: Expiration = .never, pins: Set<SPKIHash>, enforceBackupPin: Bool = true,
    mode: Mode = .enforce
  ) throws(PinningPolicyValidationError) {
    try self.init(try Self.address(ipAddress), false, expiration, pins, enforceBackupPin, mode)
  }

  /// Creates a policy for an IP address. A policy for a name never matches an IP address (RFC 7469 §2.1).
  ///
  /// The server needs a certificate that is valid for the address.
  ///
  /// The parameters are those of ``init(_:includeSubdomains:expiration:pins:enforceBackupPin:mode:)``.
  ///
  /// - Throws: ``PinningPolicyValidationError``. The address is checked first, then the pins.
  public init(
    ipAddress: String, expiration: Expiration = .never, pinnedHashes: Set<String>, enforceBackupPin: Bool = true,
    mode: Mode = .enforce
  ) throws(PinningPolicyValidationError) {
    let host = try Self.address(ipAddress)
    try self.init(host, false, expiration, try Self.read(pinnedHashes), enforceBackupPin, mode)
  }

  /// Creates a policy that excludes a host from its parent's policy: a valid chain and host name are sufficient for it.
  ///
  /// - Parameters:
  ///   - domainName: the host name.
  ///   - includeSubdomains: whether the hosts below it are excluded as well. Default `false`.
  /// - Throws: ``PinningPolicyValidationError`` for an invalid domain.
  public static func excluding(
    domainName: String, includeSubdomains: Bool = false
  ) throws(PinningPolicyValidationError) -> PinningPolicy {
    PinningPolicy(
      host: try domain(domainName, includeSubdomains: includeSubdomains), includeSubdomains: includeSubdomains,
      expiration: .never, pins: [], enforceBackupPin: false, mode: .off)
  }

  /// Creates a policy that accepts an IP address with a valid chain and host name, for configurations that refuse hosts
  /// without a policy.
  ///
  /// - Parameter ipAddress: an IPv4 or IPv6 address.
  /// - Throws: ``PinningPolicyValidationError`` for an invalid address.
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
    // The same key may be given twice, with and without the prefix.
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
  /// Returns the expiration rounded down to the second, which is the precision of files.
  fileprivate func inSeconds() throws(PinningPolicyValidationError) -> Self {
    guard let date else { return self }
    let seconds = date.timeIntervalSince1970.rounded(.down)
    guard (0...253_402_300_799).contains(seconds) else { throw .invalidExpiration }
    let rounded = Date(timeIntervalSince1970: seconds)
    return if case .refuse = self { .refuse(after: rounded) } else { .fallBack(after: rounded) }
  }
}
