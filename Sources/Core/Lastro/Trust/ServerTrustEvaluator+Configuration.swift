// SPDX-License-Identifier: Apache-2.0

extension ServerTrustEvaluator {
  /// The policies of a ``ServerTrustEvaluator``, and the rule for hosts without a policy.
  public struct Configuration: Sendable, Hashable {
    /// The policies, in the order in which they were passed. The order has no effect: a host's own policy applies, or
    /// else the policy of its longest parent that includes subdomains.
    public let pinningPolicies: [PinningPolicy]
    /// The order in which the keys of a chain are looked up.
    public let certificateCheckingOrder: CertificateCheckingOrder
    /// Whether a valid chain and host name are sufficient for hosts without a policy. If `false`, such hosts are
    /// refused.
    public let allowNotPinnedDomains: Bool
    private let table: PolicyTable

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - pinningPolicies: at least one policy, and at most one for each host.
    ///   - certificateCheckingOrder: the order in which the keys of a chain are looked up. Default
    ///     ``CertificateCheckingOrder/leafToRoot``.
    ///   - allowNotPinnedDomains: whether a valid chain and host name are sufficient for hosts without a policy.
    ///     Default `false`: such hosts are refused. An HTTPS proxy without a policy is accepted in either case.
    /// - Throws: ``ConfigurationValidationError``.
    public init(
      pinningPolicies: [PinningPolicy], certificateCheckingOrder: CertificateCheckingOrder = .leafToRoot,
      allowNotPinnedDomains: Bool = false
    ) throws(ConfigurationValidationError) {
      guard !pinningPolicies.isEmpty else { throw .emptyPolicies }
      var seen: Set<HostName> = []
      let duplicates = pinningPolicies.map(\.host).filter { !seen.insert($0).inserted }
      guard duplicates.isEmpty else { throw .duplicatePolicies(Set(duplicates)) }
      self.pinningPolicies = pinningPolicies
      self.certificateCheckingOrder = certificateCheckingOrder
      self.allowNotPinnedDomains = allowNotPinnedDomains
      table = PolicyTable(pinningPolicies)
    }

    /// Returns the policy that applies to a host: its own, or else that of its longest parent that includes subdomains;
    /// `nil` if there is none. Expired policies are returned too, since their expiration defines their effect.
    public func policy(for host: HostName) -> PinningPolicy? { table.policy(for: host) }

    /// Returns the policy that would apply to a host if it had none of its own.
    func parentPolicy(of host: HostName) -> PinningPolicy? { table.parentPolicy(of: host) }
  }
}
