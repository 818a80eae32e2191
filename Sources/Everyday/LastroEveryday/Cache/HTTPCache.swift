// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
internal import HTTPTypes
public import Lastro
internal import LastroSupport

/// A private cache of HTTP responses (RFC 9111) that may also serve stale responses where this is allowed (RFC 5861).
///
/// ```swift
/// var configuration = StackConfiguration()
/// configuration.cache = HTTPCache()
/// let stack = try CurlNetworkStack(configuration: configuration)
/// ```
///
/// A response that one principal fetched is never given to another: see `RequestOptions.principal`. The cache sits
/// below retries and interceptors, and above breakers, limiters and the engine, so a response from the cache uses none
/// of these. A store that fails or is full never fails a fetch.
public final class HTTPCache: Sendable {
  /// The store that holds the responses.
  package let store: any HTTPCacheStore
  /// The options of the cache.
  package let policy: HTTPCachePolicy
  /// The store, if other processes use its responses, too.
  let shared: (any SharedHTTPCacheStore)?
  let access: StoreAccess
  let searches = SearchRules()
  let flights = FlightTable()
  let revalidations = Revalidations()
  let changes = ChangeCounts()

  /// Creates a cache that keeps its responses in memory, and evicts the least recently used ones first.
  ///
  /// A response costs the bytes of its fields and body plus 512. At most 20 responses are stored per URL and partition.
  ///
  /// - Parameters:
  ///   - maximumBytes: the maximum total cost. Default 64 MiB; a negative value counts as 0.
  ///   - maximumEntryBytes: the maximum size of one body. Default 1 MiB; a negative value counts as 0.
  ///   - partitioning: the set of requests that may share a response. Default ``Partitioning/byPrincipal``.
  ///   - heuristicFraction: the fraction of the time since `Last-Modified` for which a response without explicit
  ///     freshness is fresh (RFC 9111 §4.2.2), at most 24 hours. Default 0.1; 0 for none. Clamped to 0…1.
  ///   - staleWhenUnreachable: the time for which a stale response may be served while the server is unreachable (RFC
  ///     9111 §4.2.4), unless the response forbids it. Default `nil`: only as long as `stale-if-error` says.
  ///   - collapsesEqualRequests: whether equal simultaneous requests share one transfer. Default true.
  ///   - addsCacheStatus: whether the cache adds a member to the `Cache-Status` field of responses (RFC 9211). Default
  ///     false.
  ///   - readsNoVarySearch: whether the cache follows `No-Vary-Search` of responses
  ///     (draft-ietf-httpbis-no-vary-search): requests whose URLs differ only in the parts of the query that the field
  ///     declares irrelevant get the same response. The first response of a path supplies the rule and is not stored.
  ///     Responses stored by a rule are found by this cache only, even if they are on disk. The rules of a thousand
  ///     paths are remembered. Default false.
  public convenience init(
    maximumBytes: Int = 64 * 1024 * 1024, maximumEntryBytes: Int = 1024 * 1024,
    partitioning: Partitioning = .byPrincipal, heuristicFraction: Double = 0.1, staleWhenUnreachable: Duration? = nil,
    collapsesEqualRequests: Bool = true, addsCacheStatus: Bool = false, readsNoVarySearch: Bool = false
  ) {
    let policy = HTTPCachePolicy(
      partitioning: partitioning, heuristicFraction: heuristicFraction, staleWhenUnreachable: staleWhenUnreachable,
      maximumEntryBytes: max(maximumEntryBytes, HTTPCachePolicy.minimumEntryLimit),
      collapsesEqualRequests: collapsesEqualRequests, addsCacheStatus: addsCacheStatus,
      readsNoVarySearch: readsNoVarySearch)
    self.init(
      store: MemoryCacheStore(maximumBytes: maximumBytes, maximumEntryBytes: maximumEntryBytes), policy: policy)
  }

  /// Creates a cache in memory with other options.
  package convenience init(policy: HTTPCachePolicy) { self.init(store: MemoryCacheStore(), policy: policy) }

  /// Creates a cache over a store.
  package init(store: any HTTPCacheStore, policy: HTTPCachePolicy = HTTPCachePolicy()) {
    self.store = store
    shared = store as? any SharedHTTPCacheStore
    self.policy = policy
    access = StoreAccess(store)
  }

  /// Removes the stored responses of a URL, for all principals. Responses in progress are not stored either.
  ///
  /// No stored response of the URL is served from now on, even if the store fails to remove it, or the task is
  /// cancelled meanwhile: the removal is repeated before the store is next read. Waits for the store without a limit;
  /// cancelling ends the wait.
  ///
  /// - Parameter url: an absolute URL; a fragment is ignored.
  /// - Throws: `TransportError`, stage `request`, for a text that is not an `http` or `https` URL.
  public func remove(_ url: String) async throws(TransportError) {
    let url = try RequestTarget(url).absolute
    await forget([url], StoreVisit(access, patience: nil))
  }

  /// Removes all stored responses, and stores none that are in progress. Handles failures of the store as
  /// ``remove(_:)`` does.
  public func removeAll() async {
    outdate(nil)
    let access = access
    if await StoreVisit(access, patience: nil).ask({ _ in await access.clearAll() }) == nil { shared?.removeLater(nil) }
  }

  /// Invalidates the stored responses of URLs, and those in progress.
  func forget(_ urls: [String], _ visit: StoreVisit) async {
    let access = access
    // Without the store's key, the URL's entries cannot be identified, so everything is invalidated.
    guard let key = await access.digestKey(visit.time) else {
      outdate(nil)
      shared?.removeLater(nil)
      return
    }
    let digests = urls.flatMap(searches.texts).compactMap { try? CacheKeyring(key: key).digest(ofURL: $0) }
    for digest in digests { outdate(digest) }
    let isDone: Void? = await visit.ask { _ in for digest in digests { _ = await access.clear(digest) } }
    if isDone == nil { for digest in digests { shared?.removeLater(digest) } }
  }

  private func outdate(_ url: [UInt8]?) {
    access.condemn(url)
    changes.note(url)
    flights.leave(url)
  }

  /// Cancels background validations, and begins no more of them. Requests are still answered.
  public func shutDown() { revalidations.shutDown() }

  /// The number of requests that wait for shared transfers, including the requests that run them.
  package var waiting: Int { flights.waiting }

  /// Waits until no background validation is running, for a program that is about to exit. Returns soon after the task
  /// is cancelled.
  package func finishRevalidations() async { await revalidations.ended() }
}

extension StackConfiguration {
  /// The cache between the stack and its transport. Default `nil`: none.
  ///
  /// ```swift
  /// var configuration = StackConfiguration()
  /// configuration.cache = HTTPCache()
  /// let stack = try CurlNetworkStack(configuration: configuration)
  /// ```
  ///
  /// Stacks configured with the same cache share its stored responses. They must reach the same servers by the same
  /// names, have the same trust settings, and present the same client certificate, because a response that one of them
  /// fetched answers the others.
  public var cache: HTTPCache? {
    get { layers[.cache] as? HTTPCache }
    set { layers[.cache] = newValue }
  }
}

extension HTTPCache: TransportLayer {
  package func transport(over base: any Transport, for configuration: StackConfiguration) -> any Transport {
    CachingTransport(over: base, self, time: configuration.timeSource)
  }
}

/// The cache options of a request.
struct CacheUse: Sendable {
  var mode: CacheMode?
  var principal: String?

  init(_ use: (any Sendable)?) { self = use as? CacheUse ?? CacheUse() }

  private init() {}
}

extension CacheUse: TransportLayerUse {
  func complete(_ layers: inout ByLayerPlace<any TransportLayer>) -> Bool {
    // Every other mode permits asking the server, which is all that a stack without a cache can do.
    guard mode == .onlyStored, !(layers[.cache] is HTTPCache) else { return false }
    layers[.cache] = NoCache()
    return true
  }
}

/// A layer for requests that only a cache may answer, in a stack without a cache.
private struct NoCache: TransportLayer, Transport {
  func transport(over base: any Transport, for configuration: StackConfiguration) -> any Transport { self }

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    var facts = TransferFacts()
    facts.notes = [.init("cache", detail: "missing", text: "the stack has no cache")]
    return TransferResponse(head: HTTPResponse(status: .gatewayTimeout), body: ResponseBody(Data()), facts: facts)
  }

  func explain(_ request: TransferRequest) -> [(name: String, value: String)] {
    [(name: "cache", value: "the stack has none, so that the answer is 504")]
  }
}

extension RequestOptions {
  /// The way in which the request uses the stack's ``HTTPCache``. Default `nil`: the same as ``CacheMode/standard``.
  ///
  /// A stack without a cache stores nothing: it answers ``CacheMode/onlyStored`` with 504, and sends the request to the
  /// server in every other mode.
  public var cache: CacheMode? {
    get { CacheUse(layerUses[.cache]).mode }
    set {
      var use = CacheUse(layerUses[.cache])
      use.mode = newValue
      layerUses[.cache] = use
    }
  }

  /// The principal for whom the request is made: a stable name, such as an account number. Default `nil`.
  ///
  /// Responses are stored for requests with the same name, and never given to others. Without a name, the request's
  /// credentials take its place. An access token changes regularly, say every hour, and responses stored under it are
  /// not found with the next one; a response to a request whose signature names no key is not stored. The store sees
  /// only a digest of the name.
  public var principal: String? {
    get { CacheUse(layerUses[.cache]).principal }
    set {
      var use = CacheUse(layerUses[.cache])
      use.principal = newValue
      layerUses[.cache] = use
    }
  }
}
