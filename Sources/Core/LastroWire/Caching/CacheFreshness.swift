// SPDX-License-Identifier: Apache-2.0

/// The age of a response and its freshness lifetime (RFC 9111 §4.2).
package struct CacheFreshness: Sendable, Hashable {
  package var age: Duration
  package var lifetime: Duration
  /// Whether the clock is reliable. If it was set back to before the receipt, the age is unknown.
  package var isClockReliable: Bool

  /// Whether the response may be served without validation.
  package var isFresh: Bool { isClockReliable && age < lifetime }

  /// The remaining freshness lifetime; negative if the response is stale.
  package var left: Duration { lifetime - age }

  package init(of entry: CacheEntry, now: Duration, rules: CacheRules) {
    // Allow one second, because clocks are often adjusted by less.
    isClockReliable = now >= entry.received - .seconds(1)
    age = entry.age(now: now)
    lifetime = entry.lifetime(rules)
  }

  /// Returns whether the age is less than `window` beyond the lifetime.
  package func isWithin(_ window: Duration) -> Bool { isClockReliable && age < lifetime + window }
}

extension CacheEntry {
  /// Returns the current age (§4.2.3).
  package func age(now: Duration) -> Duration {
    let apparent = max(.zero, received - date)
    let told = FieldSyntax.elements(fields.first("age") ?? "").first.flatMap(CacheControl.seconds) ?? 0
    let initial = max(apparent, .seconds(told) + max(.zero, received - requested))
    return initial + max(.zero, now - received)
  }

  /// Returns the freshness lifetime (§4.2.1).
  package func lifetime(_ rules: CacheRules) -> Duration {
    let control = control
    if rules.isShared, let seconds = control.sharedMaxAge { return .seconds(seconds) }
    if let seconds = control.maxAge { return .seconds(seconds) }
    let expiries = fields.values("expires")
    if !expiries.isEmpty {
      // If there are several, it is unknown which one is right.
      guard expiries.count == 1, let expiry = HTTPDate.seconds(expiries[0], now: received.components.seconds) else {
        return .zero
      }
      return max(.zero, .seconds(expiry) - date)
    }
    return heuristic(control, rules)
  }

  /// Returns the heuristic lifetime (§4.2.2).
  private func heuristic(_ control: CacheControl, _ rules: CacheRules) -> Duration {
    guard CacheRules.heuristicStatuses.contains(status) || control.isPublic, let text = lastModified,
      let modified = HTTPDate.seconds(text, now: received.components.seconds)
    else { return .zero }
    let since = date - .seconds(modified)
    return since > .zero ? min(since * rules.heuristicFraction, CacheRules.maximumHeuristic) : .zero
  }
}
