// SPDX-License-Identifier: Apache-2.0

/// Why there can be no such ``PinningPolicy``. Others may come: a `switch` needs an `@unknown default`.
@nonexhaustive
public enum PinningPolicyValidationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The name is empty, or no host can be called so.
  case invalidDomainName(String, ConfigurationError)
  /// A name with a wildcard.
  case wildcard(String)
  /// An IP address where a name is expected.
  case ipAddress(String)
  /// No IP address where one is expected.
  case notAnIPAddress(String)
  /// A name below which anybody may register one (`com`, `co.uk`), with subdomains.
  case publicSuffix(String)
  /// A name of one label that no rule is for (`intranet`, `localhost`), with subdomains.
  case singleLabel(String)
  /// There is no pin.
  case emptyPins
  /// These are no pins: all that are not.
  case invalidPins(Set<String>)
  /// There is only one key, and a backup is demanded.
  case missingBackupPin
  /// Its date is NaN, infinite, or not within the years 1970 to 9999.
  case invalidExpiration
  /// An IP address with subdomains.
  case subdomainsOfAddress
  /// In a file: neither a domain nor an IP address, or both.
  case unclearHost

  /// What is wrong, and how to fix it.
  public var description: String { error.description }

  /// The same as a sentence and a hint.
  var error: ConfigurationError {
    switch self {
    case .invalidDomainName(let name, let error):
      ConfigurationError("the domain name \(quoted(name)) is none: \(error.message)", hint: error.hint)
    case .wildcard(let name):
      ConfigurationError(
        "the domain name \(quoted(name)) has a wildcard",
        hint: "write the name without it, and includeSubdomains: true")
    case .ipAddress(let name):
      ConfigurationError(
        "the domain name \(quoted(name)) is an IP address",
        hint: "use PinningPolicy(ipAddress:pinnedHashes:), or the JSON member ipAddress instead of domain")
    case .notAnIPAddress(let text):
      ConfigurationError(
        "\(quoted(text)) is no IP address", hint: "use PinningPolicy(domainName:pinnedHashes:) for a name")
    case .publicSuffix(let name):
      ConfigurationError(
        "anybody may register a name below \(quoted(name)), so its subdomains cannot be pinned",
        hint: "write a policy for each domain that is yours, or includeSubdomains: false")
    case .singleLabel(let name):
      ConfigurationError(
        "\(quoted(name)) is a name of one label, and whose the names below it are no public suffix list says, so its "
          + "subdomains cannot be pinned",
        hint: "write a policy for each domain below it, such as corp.\(name), or includeSubdomains: false")
    case .emptyPins:
      ConfigurationError(
        "the policy has no pins",
        hint: "give two, the key in use and a backup; to take a host out of its parent's policy, use "
          + "PinningPolicy.excluding(domainName:) or excluding(ipAddress:)")
    case .invalidPins(let pins):
      ConfigurationError(
        "no pins: \(pins.sorted().map { quoted($0.cut(to: 60)) }.joined(separator: ", "))",
        hint: "write sha256/ and the Base64 of 32 bytes with its final =, such as "
          + "sha256/r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=")
    case .missingBackupPin:
      ConfigurationError(
        "there is only one key, and no backup",
        hint:
          "add the hash of a second key, kept apart from the first, so that the loss of one cuts nobody off; or say "
          + "enforceBackupPin: false")
    case .invalidExpiration:
      ConfigurationError(
        "the policy's expiration is not within the years 1970 to 9999", hint: "for one that never expires, say .never")
    case .subdomainsOfAddress:
      ConfigurationError("an IP address has no subdomains", hint: "drop includeSubdomains")
    case .unclearHost:
      ConfigurationError("which host it is for is not said", hint: "write either domain or ipAddress")
    }
  }

  private func quoted(_ text: String) -> String { "\"\(text.onOneLine)\"" }
}
