// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

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
  /// ``init(domainName:includeSubdomains:expiration:pinnedHashes:enforceBackupPin:mode:)``. `expires` requires
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
      switch (domain, address) {
      case (let domain?, nil) where mode == .off && pins?.isEmpty ?? true && expiration == .never:
        self = try .excluding(domainName: domain, includeSubdomains: includeSubdomains)
      case (nil, let address?)
      where mode == .off && !includeSubdomains && pins?.isEmpty ?? true && expiration == .never:
        self = try .excluding(ipAddress: address)
      case (let domain?, nil):
        self = try Self(
          domainName: domain, includeSubdomains: includeSubdomains, expiration: expiration,
          pinnedHashes: Set(pins ?? []), enforceBackupPin: backup, mode: mode)
      case (nil, let address?) where !includeSubdomains:
        self = try Self(
          ipAddress: address, expiration: expiration, pinnedHashes: Set(pins ?? []), enforceBackupPin: backup,
          mode: mode)
      case (nil, _?): throw .subdomainsOfAddress
      default: throw .unclearHost
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
          ConfigurationError("the date that it is about is missing", hint: "add expires, or drop afterExpiration"),
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
          hint: "add afterExpiration: \"refuse\" cuts off until it is renewed, \"fallBack\" goes on without pins"),
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
