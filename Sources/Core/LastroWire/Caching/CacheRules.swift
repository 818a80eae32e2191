// SPDX-License-Identifier: Apache-2.0

/// The settings of a cache.
package struct CacheRules: Sendable, Hashable {
  /// Whether the same entries serve several users (RFC 9111 §3.5).
  package var isShared: Bool
  /// The fraction of its age for which a response without explicit freshness remains fresh (§4.2.2).
  package var heuristicFraction: Double
  /// The time beyond its lifetime for which a response may be served while its server is unreachable (§4.2.4).
  package var staleWhenUnreachable: Duration?

  package init(isShared: Bool = false, heuristicFraction: Double = 0.1, staleWhenUnreachable: Duration? = nil) {
    self.isShared = isShared
    self.heuristicFraction = heuristicFraction
    self.staleWhenUnreachable = staleWhenUnreachable
  }

  /// The maximum heuristic lifetime.
  static let maximumHeuristic = Duration.seconds(86_400)
  /// The statuses that may be fresh heuristically (RFC 9110 §15.1).
  static let heuristicStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]
  /// The statuses that the cache understands, as `must-understand` requires (RFC 9111 §5.2.2.3).
  static let understoodStatuses = heuristicStatuses.union([302, 303, 307])
  /// The statuses that are never stored, regardless of other fields: partial responses, and responses to preconditions.
  static let transientStatuses: Set<Int> = [206, 304, 412, 416]
}
