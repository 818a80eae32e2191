// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

extension ServerTrustEvaluator {
  /// What a ``ServerTrustEvaluator`` made of the servers it judged.
  ///
  /// A TLS connection is judged once for each host and revision, so these are no numbers of requests; but over plain
  /// `http`, where no connection shows anything, every request is judged and counted.
  public struct Statistics: Sendable, Hashable {
    /// Numbers of one policy.
    public struct Counts: Sendable, Hashable {
      /// Servers with a pinned key.
      public var pinned: UInt64 = 0
      /// Servers refused.
      public var blocked: UInt64 = 0
      /// Servers that would have been refused, had the policy not been in report-only mode.
      public var wouldHaveBlocked: UInt64 = 0
      /// Servers accepted because the policy was off, or had expired and falls back.
      public var notChecked: UInt64 = 0

      /// Makes counts, all zero.
      public init() {}
    }

    /// By the policy's host; of policies in force that were asked. A policy that takes another's place for the same
    /// host goes on counting.
    public var policies: [HostName: Counts] = [:]
    /// Servers refused because no policy is for them.
    public var notPinnedBlocked: UInt64 = 0
    /// Servers accepted although no policy is for them.
    public var notPinnedAccepted: UInt64 = 0
    /// Reports that `onReport` was never told of, because too many others waited for it.
    public var reportsDropped: UInt64 = 0

    /// Makes statistics, all zero.
    public init() {}
  }
}

/// The counts of one evaluator; any thread may add to them.
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

  /// Forgets the policies that are no more.
  func keep(_ hosts: [HostName]) {
    let hosts = Set(hosts)
    counts.withLock { counts in counts.policies = counts.policies.filter { hosts.contains($0.key) } }
  }
}
