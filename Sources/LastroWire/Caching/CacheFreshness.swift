// SPDX-License-Identifier: Apache-2.0

/// How old an answer is, and how long it is fresh (RFC 9111 §4.2).
package struct CacheFreshness: Sendable, Hashable {
  package var age: Duration
  package var lifetime: Duration
  /// False where the clock went back behind the receipt: then no age is known.
  package var isClockReliable: Bool

  /// Whether the answer may serve without asking.
  package var isFresh: Bool { isClockReliable && age < lifetime }

  /// How long it still is fresh; negative where it is not.
  package var left: Duration { lifetime - age }

  package init(of entry: CacheEntry, now: Duration, rules: CacheRules) {
    // A second: clocks are set by less all the time.
    isClockReliable = now >= entry.received - .seconds(1)
    age = entry.age(now: now)
    lifetime = entry.lifetime(rules)
  }

  /// Whether it is within a window behind its lifetime.
  package func isWithin(_ window: Duration) -> Bool { isClockReliable && age < lifetime + window }
}

extension CacheEntry {
  /// §4.2.3.
  package func age(now: Duration) -> Duration {
    let apparent = max(.zero, received - date)
    let told = FieldSyntax.elements(fields.first("age") ?? "").first.flatMap(CacheControl.seconds) ?? 0
    let initial = max(apparent, .seconds(told) + max(.zero, received - requested))
    return initial + max(.zero, now - received)
  }

  /// §4.2.1.
  package func lifetime(_ rules: CacheRules) -> Duration {
    let control = control
    if rules.isShared, let seconds = control.sharedMaxAge { return .seconds(seconds) }
    if let seconds = control.maxAge { return .seconds(seconds) }
    let expiries = fields.values("expires")
    if !expiries.isEmpty {
      // Where there are several, none can be told to be right.
      guard expiries.count == 1, let expiry = HTTPDate.seconds(expiries[0], now: received.components.seconds) else {
        return .zero
      }
      return max(.zero, .seconds(expiry) - date)
    }
    return heuristic(control, rules)
  }

  /// §4.2.2.
  private func heuristic(_ control: CacheControl, _ rules: CacheRules) -> Duration {
    guard CacheRules.heuristicStatuses.contains(status) || control.isPublic, let text = lastModified,
      let modified = HTTPDate.seconds(text, now: received.components.seconds)
    else { return .zero }
    let since = date - .seconds(modified)
    return since > .zero ? min(since * rules.heuristicFraction, CacheRules.maximumHeuristic) : .zero
  }
}
