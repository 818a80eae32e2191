// SPDX-License-Identifier: Apache-2.0

extension ServerTrustEvaluator {
  /// The policies of a ``ServerTrustEvaluator``, and what holds where there is none.
  public struct Configuration: Sendable, Hashable {
    /// The policies, in the order they were given. It does not matter: the policy for a host itself holds, else the one
    /// for its longest parent that includes subdomains.
    public let pinningPolicies: [PinningPolicy]
    /// In which order the keys of a chain are looked up.
    public let certificateCheckingOrder: CertificateCheckingOrder
    /// Whether chain and host name suffice for hosts without a policy; else they are refused.
    public let allowNotPinnedDomains: Bool
    private let table: PolicyTable

    /// Makes a configuration.
    ///
    /// - Parameters:
    ///   - pinningPolicies: at least one, and no two for the same host.
    ///   - certificateCheckingOrder: in which order the keys of a chain are looked up. Default
    ///     ``CertificateCheckingOrder/leafToRoot``.
    ///   - allowNotPinnedDomains: whether chain and host name suffice for hosts without a policy. Default `false`: they
    ///     are refused. An HTTPS proxy without a policy is accepted all the same.
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

    /// The policy that holds for a host: its own, else that of its longest parent that includes subdomains; `nil` where
    /// there is none. Expired ones hold too, in their way.
    public func policy(for host: HostName) -> PinningPolicy? { table.policy(for: host) }

    /// The policy that would hold for a host if it had none of its own.
    func parentPolicy(of host: HostName) -> PinningPolicy? { table.parentPolicy(of: host) }
  }
}
