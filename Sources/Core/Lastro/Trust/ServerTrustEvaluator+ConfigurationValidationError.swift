// SPDX-License-Identifier: Apache-2.0

extension ServerTrustEvaluator {
  /// The reason why a ``Configuration`` is invalid. Later versions may add reasons: a `switch` needs an `@unknown
  /// default`.
  @nonexhaustive
  public enum ConfigurationValidationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The list of policies is empty.
    case emptyPolicies
    /// There are several policies for these hosts.
    case duplicatePolicies(Set<HostName>)

    /// The fault and a suggested fix.
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
