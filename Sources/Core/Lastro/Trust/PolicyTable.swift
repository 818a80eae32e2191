// SPDX-License-Identifier: Apache-2.0

/// Finds the policy for a host with at most one dictionary lookup for each of its labels, without allocating.
struct PolicyTable: Sendable, Hashable {
  private let policies: [Substring: PinningPolicy]

  /// - Parameter policies: the policies; of several for the same host, the first is used.
  init(_ policies: [PinningPolicy]) {
    self.policies = Dictionary(policies.map { ($0.host.text[...], $0) }, uniquingKeysWith: { first, _ in first })
  }

  func policy(for host: HostName) -> PinningPolicy? { policies[host.text[...]] ?? parentPolicy(of: host) }

  /// Returns the policy of the host's longest parent that includes subdomains. Only whole labels are removed, so a
  /// policy for `example.com` matches neither `badexample.com` nor `com`.
  func parentPolicy(of host: HostName) -> PinningPolicy? {
    guard !host.isIPAddress else { return nil }
    var name = host.text[...]
    while let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")) {
      name = name[name.index(after: dot)...]
      if let policy = policies[name], policy.includeSubdomains { return policy }
    }
    return nil
  }
}
