// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import LastroSupport

extension ServerTrustEvaluator.Configuration: Codable {
  enum CodingKeys: String, CodingKey, CaseIterable {
    case policies, allowNotPinnedDomains, certificateCheckingOrder
  }

  /// Reads an object with `policies`, and with `allowNotPinnedDomains` and `certificateCheckingOrder` unless they have
  /// their default values. Unknown members are errors.
  ///
  /// - Throws: `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
    let policies = try container.decode([PinningPolicy].self, forKey: .policies)
    let order: ServerTrustEvaluator.CertificateCheckingOrder? = try container.decodeWord(
      forKey: .certificateCheckingOrder)
    let allows = try container.decodeIfPresent(Bool.self, forKey: .allowNotPinnedDomains)
    do throws(ServerTrustEvaluator.ConfigurationValidationError) {
      try self.init(
        pinningPolicies: policies, certificateCheckingOrder: order ?? .leafToRoot,
        allowNotPinnedDomains: allows ?? false)
    } catch {
      throw DecodingError.teaching(error.error, at: container.codingPath + [CodingKeys.policies])
    }
  }

  /// Writes the object that ``init(from:)`` reads, with all members.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(pinningPolicies, forKey: .policies)
    try container.encode(allowNotPinnedDomains, forKey: .allowNotPinnedDomains)
    try container.encode(certificateCheckingOrder, forKey: .certificateCheckingOrder)
  }

  /// Reads a configuration from JSON.
  ///
  /// ```json
  /// {
  ///   "policies": [{"domain": "api.example.com", "pins": ["sha256/…", "sha256/…"]}],
  ///   "allowNotPinnedDomains": false
  /// }
  /// ```
  ///
  /// The JSON must be UTF-8. A duplicate member in an object is an error.
  ///
  /// - Throws: ``ConfigurationError`` that names the place of the fault, such as `policies[0].pins`.
  public init(json: Data) throws(ConfigurationError) { try self.init(json: json, name: "the pinning configuration") }

  /// Reads a configuration from a JSON file, on the calling thread.
  ///
  /// - Throws: ``ConfigurationError`` that names the file and the place of the fault.
  public init(contentsOfFile path: String) throws(ConfigurationError) {
    let name = "the pinning configuration \(path.onOneLine)"
    let data: Data
    do {
      data = try Data(contentsOf: URL(filePath: path))
    } catch {
      throw ConfigurationError("\(name) cannot be read", hint: "check the path, and that this process may read it")
    }
    try self.init(json: data, name: name)
  }

  private init(json: Data, name: String) throws(ConfigurationError) {
    // JSON in UTF-8 has no NUL bytes. Check for them here, because decoders also accept UTF-16 and UTF-32.
    guard !json.contains(0) else { throw ConfigurationError("\(name) is not UTF-8", hint: "save it as UTF-8") }
    do {
      let repeated = RepeatedMember.path(in: [UInt8](json)) {
        try? JSONDecoder().decode(String.self, from: Data("\"\($0)\"".utf8))
      }
      if let path = repeated {
        throw DecodingError.teaching(
          ConfigurationError("the member occurs twice", hint: "leave one: the other would not count"), at: path)
      }
      self = try JSONDecoder().decode(Self.self, from: json)
    } catch {
      throw ConfigurationError(decoding: error, of: name)
    }
  }

  /// Returns the configuration as JSON on several lines. The output is stable: members are sorted by name, and pins are
  /// sorted.
  public func json() -> String { trustJSON(self) }
}

extension PinningPolicy {
  /// Returns the policy as JSON on several lines, in the form of a member of `policies`.
  public func json() -> String { trustJSON(self) }
}

private func trustJSON(_ value: some Encodable) -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
  // The values are only strings, numbers and Booleans, so encoding cannot fail.
  return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
}
