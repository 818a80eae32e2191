// SPDX-License-Identifier: Apache-2.0

/// The reason why a ``PinningPolicy`` is invalid. Later versions may add reasons: a `switch` needs an
/// `@unknown default`.
@nonexhaustive
public enum PinningPolicyValidationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The name is empty, or is not a valid host name.
  case invalidDomainName(String, ConfigurationError)
  /// The name has a wildcard.
  case wildcard(String)
  /// The text is an IP address, but a name is expected.
  case ipAddress(String)
  /// The text is not an IP address, but one is expected.
  case notAnIPAddress(String)
  /// The policy includes subdomains of a name below which anyone may register a name (`com`, `co.uk`).
  case publicSuffix(String)
  /// The policy includes subdomains of a name of one label that no rule of the list covers (`intranet`, `localhost`).
  case singleLabel(String)
  /// The policy has no pins.
  case emptyPins
  /// Some pins are invalid; the set has all of those.
  case invalidPins(Set<String>)
  /// The policy has only one key, but a backup is required.
  case missingBackupPin
  /// The expiration is NaN, infinite, or outside the years 1970 to 9999.
  case invalidExpiration
  /// The policy includes subdomains of an IP address.
  case subdomainsOfAddress
  /// A policy in a file has neither a domain nor an IP address, or has both.
  case unclearHost

  /// The fault and a suggested fix.
  public var description: String { error.description }

  /// The fault and the suggested fix as a `ConfigurationError`.
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
        hint: "write the JSON member ipAddress instead of domain")
    case .notAnIPAddress(let text):
      ConfigurationError(
        "\(quoted(text)) is not an IP address", hint: "write the JSON member domain for a name")
    case .publicSuffix(let name):
      ConfigurationError(
        "anyone may register a name below \(quoted(name)), so its subdomains cannot be pinned",
        hint: "write a policy for each domain that you own, or includeSubdomains: false")
    case .singleLabel(let name):
      ConfigurationError(
        "\(quoted(name)) has one label, and no list says who owns the names below it, so they cannot be pinned",
        hint: "write a policy for each domain below it, such as corp.\(name), or includeSubdomains: false")
    case .emptyPins:
      ConfigurationError(
        "the policy has no pins",
        hint: "give two, the key in use and a backup; PinningPolicy.excluding excludes a host from its parent's policy")
    case .invalidPins(let pins):
      ConfigurationError(
        "these pins cannot be read: \(pins.sorted().map { quoted($0.cut(to: 60)) }.joined(separator: ", "))",
        hint: "write sha256/ and the Base64 of 32 bytes: sha256/r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=")
    case .missingBackupPin:
      ConfigurationError(
        "the policy has only one pin, without a backup",
        hint: "add a key kept elsewhere: losing the only one locks clients out; or set enforceBackupPin: false")
    case .invalidExpiration:
      ConfigurationError("the policy's expiration is out of range (1970…9999)", hint: "use .never for no expiration")
    case .subdomainsOfAddress:
      ConfigurationError("an IP address has no subdomains", hint: "drop includeSubdomains")
    case .unclearHost:
      ConfigurationError("the policy does not say which host it is for", hint: "write either domain or ipAddress")
    }
  }

  private func quoted(_ text: String) -> String { "\"\(text.onOneLine)\"" }
}
