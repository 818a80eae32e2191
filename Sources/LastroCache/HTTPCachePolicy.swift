// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

/// What an ``HTTPCache`` may choose.
public struct HTTPCachePolicy: Sendable, Hashable {
  /// Who may get an answer that was made for another request.
  public enum Partitioning: Sendable, Hashable {
    /// Those with the same `RequestOptions.principal`; without one, those with the same credentials: the values of
    /// `Authorization`, `Cookie` and the sensitive fields, and the client certificate. What was asked for without
    /// any, or is `public`, is for anyone.
    case byPrincipal
    /// Anyone: for a program that has one principal only.
    case common
    /// Anyone, as a cache of many users does it (RFC 9111 §3.5): nothing `private`, and no answer to `Authorization`
    /// unless it is `public`, `must-revalidate` or has `s-maxage`, which goes before `max-age`.
    case shared
  }

  /// Default ``Partitioning/byPrincipal``.
  public var partitioning: Partitioning
  /// Which part of the time since its `Last-Modified` an answer without other freshness is fresh (RFC 9111 §4.2.2), at
  /// most 24 hours. Default 0.1; 0 for none. What lies outside of 0…1 counts as the nearest of them.
  public var heuristicFraction: Double
  /// How long behind its freshness an answer serves while the server cannot be reached (RFC 9111 §4.2.4), unless the
  /// answer forbids it. Default `nil`: only as long as `stale-if-error` says.
  public var staleWhenUnreachable: Duration?
  /// Most bytes of a body that is kept; the store has a limit too. Default 16 MiB.
  public var maximumEntryBytes: Int
  /// Whether equal requests at the same time become one. Default true.
  public var collapsesEqualRequests: Bool
  /// Whether answers get a member in `Cache-Status` (RFC 9211). Default false.
  public var addsCacheStatus: Bool
  /// Whether `No-Vary-Search` of answers is followed (draft-ietf-httpbis-no-vary-search): requests whose URLs differ in
  /// what it names are answered alike. Default false.
  ///
  /// The first answer of a path tells the rule, and is not kept; what is kept by a rule is found by this ``HTTPCache``
  /// alone, also in a store on disk. A thousand paths are remembered.
  public var readsNoVarySearch: Bool

  /// Makes a policy.
  public init(
    partitioning: Partitioning = .byPrincipal, heuristicFraction: Double = 0.1,
    staleWhenUnreachable: Duration? = nil, maximumEntryBytes: Int = 16 * 1024 * 1024,
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

  var rules: CacheRules {
    CacheRules(
      isShared: partitioning == .shared, heuristicFraction: min(max(0, heuristicFraction), 1),
      // Sums of such durations must not overflow.
      staleWhenUnreachable: staleWhenUnreachable.map { min(max(.zero, $0), .seconds(1_000_000_000)) })
  }
}
