// SPDX-License-Identifier: Apache-2.0

extension ServerTrustEvaluator {
  /// Why there can be no such ``Configuration``. Others may come: a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum ConfigurationValidationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// There is no policy.
    case emptyPolicies
    /// Several policies are for the same host: these hosts.
    case duplicatePolicies(Set<HostName>)

    /// What is wrong, and how to fix it.
    public var description: String { error.description }

    var error: ConfigurationError {
      switch self {
      case .emptyPolicies:
        ConfigurationError(
          "the list of pinning policies is empty", hint: "add one, or leave the ServerTrustEvaluator out")
      case .duplicatePolicies(let hosts):
        ConfigurationError(
          "several policies are for \(hosts.map(\.text).sorted().joined(separator: ", "))",
          hint: "write one for each host, with all its pins")
      }
    }
  }
}
