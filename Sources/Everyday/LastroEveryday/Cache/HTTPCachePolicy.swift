// SPDX-License-Identifier: Apache-2.0

package import LastroWire

/// The options of an ``HTTPCache``, whose initializer describes them.
package struct HTTPCachePolicy: Sendable, Hashable {
  /// The lowest limit of bodies in a policy. A store with a lower limit enforces that itself, and a response that has
  /// grown beyond that limit can still be received in the background.
  package static let minimumEntryLimit = 16 * 1024 * 1024

  /// The set of requests that may share a response. Default ``HTTPCache/Partitioning/byPrincipal``.
  package var partitioning: HTTPCache.Partitioning
  /// The fraction of the time since `Last-Modified` for which a response without explicit freshness is fresh (RFC 9111
  /// §4.2.2), at most 24 hours. Default 0.1; 0 for none. The value is clamped to 0…1.
  package var heuristicFraction: Double
  /// The time for which a stale response may be served while the server is unreachable (RFC 9111 §4.2.4), unless the
  /// response forbids it. Default `nil`: only as long as `stale-if-error` says.
  package var staleWhenUnreachable: Duration?
  /// The maximum size of a stored body, in bytes; the store has a limit too. Default 16 MiB.
  package var maximumEntryBytes: Int
  /// Whether equal simultaneous requests share one transfer. Default true.
  package var collapsesEqualRequests: Bool
  /// Whether the cache adds a member to the `Cache-Status` field of responses (RFC 9211). Default false.
  package var addsCacheStatus: Bool
  /// Whether the cache follows `No-Vary-Search` of responses (draft-ietf-httpbis-no-vary-search): requests whose URLs
  /// differ only in the parts of the query that the field declares irrelevant get the same response. Default false.
  ///
  /// The first response of a path supplies the rule and is not stored. Responses stored by a rule are found by this
  /// ``HTTPCache`` only, even in a store on disk. The rules of a thousand paths are remembered.
  package var readsNoVarySearch: Bool
  /// Whether responses that are for their sender alone, or set a cookie, are stored. Default true. False for a program
  /// whose store holds such responses in memory only, so that they would be lost when the process exits.
  package var storesPersonal = true
  /// A text that identifies the trust settings and the route of the transport: a response stored with one text does not
  /// answer requests with another. Default: empty.
  package var way = ""

  /// Creates a policy.
  package init(
    partitioning: HTTPCache.Partitioning = .byPrincipal, heuristicFraction: Double = 0.1,
    staleWhenUnreachable: Duration? = nil, maximumEntryBytes: Int = Self.minimumEntryLimit,
    collapsesEqualRequests: Bool = true, addsCacheStatus: Bool = false, readsNoVarySearch: Bool = false
  ) {
    self.partitioning = partitioning
    self.heuristicFraction = heuristicFraction
    self.staleWhenUnreachable = staleWhenUnreachable
    self.maximumEntryBytes = maximumEntryBytes
    self.collapsesEqualRequests = collapsesEqualRequests
    self.addsCacheStatus = addsCacheStatus
    self.readsNoVarySearch = readsNoVarySearch
  }

  /// The rules by which responses are stored and served.
  package var rules: CacheRules {
    CacheRules(
      isShared: partitioning == .shared, heuristicFraction: min(max(0, heuristicFraction), 1),
      // Clamped so that sums of such durations cannot overflow.
      staleWhenUnreachable: staleWhenUnreachable.map { min(max(.zero, $0), .seconds(1_000_000_000)) })
  }
}
