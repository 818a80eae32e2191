// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The keys that are pinned for a host: one of the keys in the host's verified chain must be among them.
///
/// ```swift
/// let policy = try PinningPolicy(
///   "example.com",
///   includeSubdomains: true,
///   pins: [
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
    package var date: Date? {
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

  /// Returns whether the last moment of the policy has passed.
  package func isExpired(at date: Date) -> Bool { expiration.date.map { $0 < date } ?? false }
}

extension PinningPolicy: Codable {
  enum CodingKeys: String, CodingKey, CaseIterable {
    case domain, ipAddress, includeSubdomains, pins, expires, afterExpiration, mode, enforceBackupPin
  }

  /// Reads an object such as
  ///
  /// ```json
  /// {
  ///   "domain": "api.example.com", "includeSubdomains": true, "pins": ["sha256/…", "sha256/…"],
  ///   "expires": "2027-01-01T00:00:00Z", "afterExpiration": "refuse", "mode": "enforce", "enforceBackupPin": true
  /// }
  /// ```
  ///
  /// Only `domain` (or `ipAddress`) and `pins` are required. The defaults of the other members are those of
  /// ``init(_:includeSubdomains:expiration:pins:enforceBackupPin:mode:)``. `expires` requires
  /// `afterExpiration`, which is `refuse` or `fallBack`. A policy with the mode `off` and without `pins` excludes a
  /// host. Unknown members are errors, so that a misspelt member does not go unnoticed.
  ///
  /// - Throws: `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
    let mode: Mode = try container.decodeWord(forKey: .mode) ?? .enforce
    let pins = try container.decodeIfPresent([String].self, forKey: .pins)
    let includeSubdomains = try container.decodeIfPresent(Bool.self, forKey: .includeSubdomains) ?? false
    let backup = try container.decodeIfPresent(Bool.self, forKey: .enforceBackupPin) ?? true
    let expiration = try Self.expiration(container)
    let domain = try container.decodeIfPresent(String.self, forKey: .domain)
    let address = try container.decodeIfPresent(String.self, forKey: .ipAddress)
    do throws(PinningPolicyValidationError) {
      let host: HostName
      switch (domain, address) {
      case (let domain?, nil): host = try Self.domain(domain, includeSubdomains: includeSubdomains)
      case (nil, _?) where includeSubdomains: throw .subdomainsOfAddress
      case (nil, let address?): host = try Self.address(address)
      default: throw .unclearHost
      }
      if mode == .off, pins?.isEmpty ?? true, expiration == .never {
        self = Self.excluding(host, includeSubdomains)
      } else {
        self = try Self(host, includeSubdomains, expiration, try Self.read(Set(pins ?? [])), backup, mode)
      }
    } catch {
      throw DecodingError.teaching(error.error, at: decoder.codingPath)
    }
  }

  private static func expiration(_ container: KeyedDecodingContainer<CodingKeys>) throws -> Expiration {
    let after: AfterExpiration? = try container.decodeWord(forKey: .afterExpiration)
    let text = try container.decodeIfPresent(String.self, forKey: .expires)
    guard let text else {
      guard after == nil else {
        throw DecodingError.teaching(
          ConfigurationError("the date to which it applies is missing", hint: "add expires, or drop afterExpiration"),
          at: container.codingPath + [CodingKeys.afterExpiration])
      }
      return .never
    }
    // The strategy is too lenient: it accepts, for example, 30 February and text after the date.
    guard let date = try? Date(text, strategy: .iso8601), date.inCalendar == text else {
      throw DecodingError.teaching(
        ConfigurationError(
          "\"\(text.onOneLine)\" is not a date in UTC", hint: "write it to the second, such as 2027-01-01T00:00:00Z"),
        at: container.codingPath + [CodingKeys.expires])
    }
    switch after {
    case .refuse: return .refuse(after: date)
    case .fallBack: return .fallBack(after: date)
    case nil:
      throw DecodingError.teaching(
        ConfigurationError(
          "the policy does not say what happens after that date",
          hint: "add afterExpiration: \"refuse\" cuts off until it is renewed, \"fallBack\" continues without pins"),
        at: container.codingPath + [CodingKeys.expires])
    }
  }

  private enum AfterExpiration: String, CaseIterable { case refuse, fallBack }

  /// Writes the object that ``init(from:)`` reads, with the pins sorted.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(host.text, forKey: host.isIPAddress ? .ipAddress : .domain)
    if !host.isIPAddress { try container.encode(includeSubdomains, forKey: .includeSubdomains) }
    try container.encode(mode.rawValue, forKey: .mode)
    guard !pins.isEmpty else { return }
    try container.encode(sortedPins, forKey: .pins)
    try container.encode(enforceBackupPin, forKey: .enforceBackupPin)
    guard let date = expiration.date else { return }
    try container.encode(date.inCalendar, forKey: .expires)
    let after: AfterExpiration = if case .refuse = expiration { .refuse } else { .fallBack }
    try container.encode(after.rawValue, forKey: .afterExpiration)
  }
}

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
  ///     Rejected for IP addresses, and for names below which anyone may register a name, according to the machine's
  ///     public suffix list. Without such a list, names of one label are rejected.
  ///   - expiration: the last moment of the policy, and its effect afterwards. Default ``Expiration/never``.
  ///   - pins: the pins, as `sha256/` and Base64, or the Base64 alone (``SPKIHash/init(_:)``).
  ///   - enforceBackupPin: whether two different pins are required, as in RFC 7469 §2.5: with a single pin, the loss of
  ///     its key makes the host unreachable. Default `true`.
  ///   - mode: the handling of a server that presents none of the keys. Default ``Mode/enforce``.
  /// - Throws: ``PinningPolicyValidationError``. The host is checked first, then the pins.
  public init(
    _ host: String, includeSubdomains: Bool = false, expiration: Expiration = .never, pins: some Sequence<String>,
    enforceBackupPin: Bool = true, mode: Mode = .enforce
  ) throws(PinningPolicyValidationError) {
    try self.init(
      host, includeSubdomains: includeSubdomains, expiration: expiration, pins: pins,
      enforceBackupPin: enforceBackupPin, mode: mode, publicSuffixes: .system)
  }

  /// Creates the same policy with another list of public suffixes.
  package init(
    _ host: String, includeSubdomains: Bool = false, expiration: Expiration = .never, pins: some Sequence<String>,
    enforceBackupPin: Bool = true, mode: Mode = .enforce, publicSuffixes: @autoclosure () -> PublicSuffixList
  ) throws(PinningPolicyValidationError) {
    let host = try Self.host(host, includeSubdomains: includeSubdomains, publicSuffixes())
    try self.init(host, includeSubdomains, expiration, try Self.read(Set(pins)), enforceBackupPin, mode)
  }

  /// Creates a policy that excludes a host from its parent's policy, or from the rule that refuses hosts without a
  /// policy: a valid chain and host name are sufficient for it.
  ///
  /// - Parameters:
  ///   - host: the host name, or an IP address.
  ///   - includeSubdomains: whether the hosts below it are excluded as well. Default `false`. Rejected for an address.
  /// - Throws: ``PinningPolicyValidationError`` for an invalid host.
  public static func excluding(
    _ host: String, includeSubdomains: Bool = false
  ) throws(PinningPolicyValidationError) -> PinningPolicy {
    excluding(try Self.host(host, includeSubdomains: includeSubdomains), includeSubdomains)
  }

  private static func excluding(_ host: HostName, _ includeSubdomains: Bool) -> PinningPolicy {
    PinningPolicy(
      host: host, includeSubdomains: includeSubdomains, expiration: .never, pins: [], enforceBackupPin: false,
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

  private static func host(
    _ text: String, includeSubdomains: Bool, _ suffixes: @autoclosure () -> PublicSuffixList = .system
  ) throws(PinningPolicyValidationError) -> HostName {
    guard let address = try? Self.address(text) else {
      return try domain(text, includeSubdomains: includeSubdomains, suffixes())
    }
    guard !includeSubdomains else { throw .subdomainsOfAddress }
    return address
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

extension PinningPolicy {
  /// The policy as Swift source code that can be pasted into a program.
  package var swiftSource: String { swiftSource(candidates: []) }

  /// The host, and whether the policy includes its subdomains.
  var scope: String { host.text + (includeSubdomains ? " and its subdomains" : "") }

  /// The pins in a stable order.
  var sortedPins: [SPKIHash] { pins.sorted { $0.base64 < $1.base64 } }

  /// Returns the policy as Swift source code.
  ///
  /// - Parameter candidates: certificates whose pins are written as comments, as candidates for the reader.
  func swiftSource(candidates: [PeerCertificate]) -> String {
    guard mode != .off || !pins.isEmpty else {
      return "try PinningPolicy.excluding(\"\(host.text)\"" + (includeSubdomains ? ", includeSubdomains: true)" : ")")
    }
    var lines = ["try PinningPolicy(", "  \"\(host.text)\","]
    if includeSubdomains { lines.append("  includeSubdomains: true,") }
    if let date = expiration.date {
      let name = if case .refuse = expiration { "refuse" } else { "fallBack" }
      lines.append("  // \(date.inCalendar)")
      let seconds = Int64(exactly: date.timeIntervalSince1970) ?? 0
      lines.append("  expiration: .\(name)(after: Date(timeIntervalSince1970: \(seconds))),")
    }
    lines.append("  pins: [")
    lines += sortedPins.map { "    \"\($0)\"," }
    lines += candidates.map { "    // \"\($0.pin)\",  // \($0.summary)" }
    lines.append("  ]" + (enforceBackupPin && mode == .enforce ? ")" : ","))
    if !enforceBackupPin { lines.append("  enforceBackupPin: false" + (mode == .enforce ? ")" : ",")) }
    if mode != .enforce { lines.append("  mode: .\(mode.rawValue))") }
    return lines.joined(separator: "\n")
  }
}
