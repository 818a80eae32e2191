// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

/// What an ``HTTPCache`` may choose.
public struct HTTPCachePolicy: Sendable, Hashable {
  /// Who may get an answer that was made for another request.
  public enum Partitioning: Sendable, Hashable {
    /// Requests with the same `RequestOptions.principal`; without one, requests with the same credentials: the header
    /// fields that `Redaction.standard` masks, the fields and secrets that the request's options name, and the client
    /// certificate. A response to a request without credentials, or one that is `public`, is for anyone.
    ///
    /// A credential that changes with each request, such as a signature, stands for the user or key id in it. Where it
    /// has none, the response is not stored unless it is `public`.
    case byPrincipal
    /// Anyone: for a program that has one principal only.
    case common
    /// Anyone, as in a cache of many users (RFC 9111 §3.5): nothing `private` is stored, and no response to a request
    /// with credentials unless it is `public`, `must-revalidate` or has `s-maxage`, which takes precedence over
    /// `max-age`. As in any shared cache, `Cookie` does not count as a credential: servers send `Vary: Cookie`.
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
  /// Whether responses are stored that are for their sender alone, or set a cookie. Default true. False for a program
  /// whose store keeps none of them longer than the process lives.
  package var storesPersonal = true
  /// A text that stands for the trust and the route of the transport: what is kept with one text does not answer
  /// requests with another. Default: empty.
  package var way = ""

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
