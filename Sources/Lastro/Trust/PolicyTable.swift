// SPDX-License-Identifier: Apache-2.0

/// Finds the policy for a host, with one look-up for each of its labels at most, and without allocating.
struct PolicyTable: Sendable, Hashable {
  private let policies: [Substring: PinningPolicy]

  /// - Parameter policies: one for each host; of several the first.
  init(_ policies: [PinningPolicy]) {
    self.policies = Dictionary(policies.map { ($0.host.text[...], $0) }, uniquingKeysWith: { first, _ in first })
  }

  func policy(for host: HostName) -> PinningPolicy? { policies[host.text[...]] ?? parentPolicy(of: host) }

  /// Whole labels are taken away, so neither `badexample.com` nor `com` meets a policy for `example.com`.
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
