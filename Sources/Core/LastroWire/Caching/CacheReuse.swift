// SPDX-License-Identifier: Apache-2.0

/// The decision whether a stored response may be reused (RFC 9111 §4).
package enum CacheReuse: Sendable, Hashable {
  case allowed
  /// Reuse is allowed within `stale-while-revalidate` (RFC 5861 §3).
  case allowedBeforeValidation
  case afterValidation

  init(
    of entry: CacheEntry, _ request: CacheRequest, _ asked: CacheControl, now: Duration, _ rules: CacheRules
  ) {
    let told = entry.control
    let freshness = CacheFreshness(of: entry, now: now, rules: rules)
    let isImmutable = told.isImmutable && freshness.isFresh
    if told.noCache || asked.noCache || request.wish == .revalidate && !isImmutable {
      self = .afterValidation
      return
    }
    if freshness.isFresh, asked.allows(freshness) {
      self = .allowed
      return
    }
    guard entry.mayBeStale(rules), freshness.isClockReliable else {
      self = .afterValidation
      return
    }
    if request.wish == .prefer || request.wish == .only || asked.allowsStale(freshness) {
      self = .allowed
    } else if asked.maxAge == nil, asked.minFresh == nil, let window = told.staleWhileRevalidate,
      freshness.isWithin(.seconds(window))
    {
      self = .allowedBeforeValidation
    } else {
      self = .afterValidation
    }
  }

  /// Returns whether a stale response may be served because the server failed: it responded with 500, 502, 503 or 504,
  /// or it was unreachable (RFC 5861 §4, RFC 9111 §4.2.4).
  package static func isAllowed(
    afterFailureOf request: CacheRequest, for entry: CacheEntry, isUnreachable: Bool, now: Duration, _ rules: CacheRules
  ) -> Bool {
    let told = entry.control
    let freshness = CacheFreshness(of: entry, now: now, rules: rules)
    guard !told.noCache, entry.mayBeStale(rules), freshness.isClockReliable else { return false }
    let asked = request.control
    // A caller that demands validation or rejects stored responses gets the failure.
    guard !asked.noCache, !request.forbidsStoring, ![.revalidate, .reload].contains(request.wish) else { return false }
    if let window = [told.staleIfError, asked.staleIfError].compactMap(\.self).max(),
      freshness.isWithin(.seconds(window))
    {
      return true
    }
    guard isUnreachable, let window = rules.staleWhenUnreachable else { return false }
    return freshness.isWithin(window)
  }

  /// The statuses that count as a server failure.
  package static let failureStatuses: Set<Int> = [500, 502, 503, 504]
}

extension CacheEntry {
  /// Returns whether the response may ever be served stale (RFC 9111 §4.2.4, §5.2.2.10).
  fileprivate func mayBeStale(_ rules: CacheRules) -> Bool {
    let control = control
    if control.mustRevalidate { return false }
    return !rules.isShared || !control.proxyRevalidate && control.sharedMaxAge == nil
  }
}

extension CacheControl {
  /// Returns whether the request accepts a fresh response of this age (RFC 9111 §5.2.1).
  fileprivate func allows(_ freshness: CacheFreshness) -> Bool {
    if let maxAge, freshness.age > .seconds(maxAge) { return false }
    if let minFresh, freshness.left < .seconds(minFresh) { return false }
    return true
  }

  fileprivate func allowsStale(_ freshness: CacheFreshness) -> Bool {
    guard let maxStale, minFresh == nil else { return false }
    if let maxAge, freshness.age > .seconds(maxAge) { return false }
    return maxStale == Self.maximumSeconds || .zero - freshness.left <= .seconds(maxStale)
  }
}
