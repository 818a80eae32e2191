// SPDX-License-Identifier: Apache-2.0

/// What a cache may choose.
package struct CacheRules: Sendable, Hashable {
  /// Whether it answers several principals from the same entries (RFC 9111 §3.5).
  package var isShared: Bool
  /// Which part of its age an answer without explicit freshness stays fresh (§4.2.2).
  package var heuristicFraction: Double
  /// How long behind its lifetime an answer may serve while its server cannot be reached (§4.2.4).
  package var staleWhenUnreachable: Duration?

  package init(isShared: Bool = false, heuristicFraction: Double = 0.1, staleWhenUnreachable: Duration? = nil) {
    self.isShared = isShared
    self.heuristicFraction = heuristicFraction
    self.staleWhenUnreachable = staleWhenUnreachable
  }

  /// The longest that an answer is fresh by heuristics.
  static let maximumHeuristic = Duration.seconds(86_400)
  /// Statuses that are fresh by heuristics (RFC 9110 §15.1).
  static let heuristicStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]
  /// Statuses whose meaning for a cache is known, as `must-understand` asks (RFC 9111 §5.2.2.3).
  static let understoodStatuses = heuristicStatuses.union([302, 303, 307])
  /// Statuses of which none is kept, whatever the answer says: parts of answers, and answers to conditions.
  static let transientStatuses: Set<Int> = [206, 304, 412, 416]
}
