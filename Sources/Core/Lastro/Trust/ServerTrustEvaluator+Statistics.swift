// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

extension ServerTrustEvaluator {
  /// The number of servers that a ``ServerTrustEvaluator`` judged, by result.
  ///
  /// A TLS connection is judged once for each host and revision, so these are not numbers of requests. A request over
  /// plain `http` has no handshake to judge, so each such request is judged and counted.
  public struct Statistics: Sendable, Hashable {
    /// The counts of one policy.
    public struct Counts: Sendable, Hashable {
      /// The number of servers with a pinned key.
      public var pinned: UInt64 = 0
      /// The number of servers that were refused.
      public var blocked: UInt64 = 0
      /// The number of servers that were accepted only because the policy was in report-only mode.
      public var wouldHaveBlocked: UInt64 = 0
      /// The number of servers that were accepted because the policy was off, or had expired and falls back.
      public var notChecked: UInt64 = 0

      /// Creates counts that are all zero.
      public init() {}
    }

    /// The counts of the current policies that were applied at least once, by the policy's host. A policy that replaces
    /// another one for the same host continues its counts.
    public var policies: [HostName: Counts] = [:]
    /// The number of servers that were refused because they have no policy.
    public var notPinnedBlocked: UInt64 = 0
    /// The number of servers that were accepted although they have no policy.
    public var notPinnedAccepted: UInt64 = 0
    /// The number of reports that were not passed to `onReport`, because too many others were waiting.
    public var reportsDropped: UInt64 = 0

    /// Creates statistics that are all zero.
    public init() {}
  }
}

/// The counts of one evaluator. Any thread may add to them.
final class TrustTally: Sendable {
  private let counts = Lock(ServerTrustEvaluator.Statistics())

  var statistics: ServerTrustEvaluator.Statistics { counts.withLock { $0 } }

  func count(_ verdict: TrustRules.Verdict) {
    counts.withLock { counts in
      switch (verdict.policy, verdict.failure == nil, verdict.isEnforced) {
      case (nil, let isAccepted, _):
        if isAccepted { counts.notPinnedAccepted += 1 } else { counts.notPinnedBlocked += 1 }
      case (let policy?, true, _) where verdict.word == .pinned:
        counts.policies[policy.host, default: .init()].pinned += 1
      case (let policy?, true, _): counts.policies[policy.host, default: .init()].notChecked += 1
      case (let policy?, false, true): counts.policies[policy.host, default: .init()].blocked += 1
      case (let policy?, false, false): counts.policies[policy.host, default: .init()].wouldHaveBlocked += 1
      }
    }
  }

  /// Removes the counts of all policies except those for the given hosts.
  func keep(_ hosts: [HostName]) {
    let hosts = Set(hosts)
    counts.withLock { counts in counts.policies = counts.policies.filter { hosts.contains($0.key) } }
  }
}
