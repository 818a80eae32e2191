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
  /// A name below which anyone may register one (`com`, `co.uk`), with subdomains.
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
      ConfigurationError("the domain name \(quoted(name)) is not valid: \(error.message)", hint: error.hint)
    case .wildcard(let name):
      ConfigurationError(
        "the domain name \(quoted(name)) has a wildcard", hint: "write the name alone, and includeSubdomains: true")
    case .ipAddress(let name):
      ConfigurationError(
        "the domain name \(quoted(name)) is an IP address",
        hint: "use PinningPolicy(ipAddress:pinnedHashes:), or the JSON member ipAddress instead of domain")
    case .notAnIPAddress(let text):
      ConfigurationError(
        "\(quoted(text)) is not an IP address", hint: "use PinningPolicy(domainName:pinnedHashes:) for a name")
    case .publicSuffix(let name):
      ConfigurationError(
        "anyone may register a name below \(quoted(name)), so its subdomains cannot be pinned",
        hint: "write a policy for each domain that is yours, or includeSubdomains: false")
    case .singleLabel(let name):
      ConfigurationError(
        "\(quoted(name)) has one label, and no list says who owns the names below it, so they cannot be pinned",
        hint: "write a policy for each domain below it, such as corp.\(name), or includeSubdomains: false")
    case .emptyPins:
      ConfigurationError(
        "the policy has no pins",
        hint: "give two, the key in use and a backup; PinningPolicy.excluding takes a host out of its parent's policy")
    case .invalidPins(let pins):
      ConfigurationError(
        "these pins cannot be read: \(pins.sorted().map { quoted($0.cut(to: 60)) }.joined(separator: ", "))",
        hint: "write sha256/ and the Base64 of 32 bytes: sha256/r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=")
    case .missingBackupPin:
      ConfigurationError(
        "the policy has only one pin, without a backup",
        hint: "add that of a key kept elsewhere: the loss of one would cut clients off; or enforceBackupPin: false")
    case .invalidExpiration:
      ConfigurationError("the policy's expiration is out of range (1970…9999)", hint: "say .never for one without")
    case .subdomainsOfAddress:
      ConfigurationError("an IP address has no subdomains", hint: "drop includeSubdomains")
    case .unclearHost:
      ConfigurationError("the policy does not say which host it is for", hint: "write either domain or ipAddress")
    }
  }

  private func quoted(_ text: String) -> String { "\"\(text.onOneLine)\"" }
}
