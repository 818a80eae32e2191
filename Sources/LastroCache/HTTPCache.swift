// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// A private cache of HTTP answers (RFC 9111), with those that are stale but allowed (RFC 5861).
///
/// ```swift
/// var configuration = StackConfiguration()
/// configuration.cache = HTTPCache()
/// let stack = try CurlNetworkStack(configuration: configuration)
/// ```
///
/// What was asked for by one principal answers no other: see `RequestOptions.principal`. It stands below retries and
/// interceptors, and above breakers, limiters and the engine: an answer from the cache costs none of them anything.
/// A store that fails, or is full, fails no fetch.
public final class HTTPCache: Sendable {
  /// Where answers are kept.
  public let store: any HTTPCacheStore
  /// What it may choose.
  public let policy: HTTPCachePolicy
  let access: StoreAccess
  let searches = SearchRules()
  let flights = FlightTable()
  let revalidations = Revalidations()
  let changes = ChangeCounts()

  /// Makes a cache.
  ///
  /// - Parameters:
  ///   - store: where answers are kept. Default: 64 MiB of memory.
  ///   - policy: what it may choose.
  public init(store: any HTTPCacheStore = MemoryCacheStore(), policy: HTTPCachePolicy = HTTPCachePolicy()) {
    self.store = store
    self.policy = policy
    access = StoreAccess(store)
  }

  /// Removes what is kept of a URL, for all principals. What is under way is not kept either.
  ///
  /// It answers nothing from now on, also where the store fails to remove it, or the task is cancelled meanwhile: the
  /// store is asked again before it is read. The store is waited for without a limit; cancelling ends the wait.
  ///
  /// - Parameter url: absolute; what it has behind a `#` does not matter.
  /// - Throws: `TransportError` for a text that is no `http` or `https` URL, stage `request`.
  public func remove(_ url: String) async throws(TransportError) {
    let url = try RequestTarget(url).url
    await forget([url], StoreVisit(access, patience: nil))
  }

  /// Removes all that is kept, and keeps nothing that is under way; as ``remove(_:)`` for what the store fails to
  /// remove.
  public func removeAll() async {
    outdate(nil)
    let access = access
    await StoreVisit(access, patience: nil).ask { _ in await access.clearAll() }
  }

  /// What is kept of URLs is no longer true, nor is what is under way.
  func forget(_ urls: [String], _ visit: StoreVisit) async {
    let access = access
    // Where the store tells no key, what of it is meant is not known.
    guard let key = await access.digestKey(visit.time) else { return outdate(nil) }
    let digests = urls.flatMap(searches.texts).compactMap { try? CacheKeyring(key: key).digest(ofURL: $0) }
    for digest in digests { outdate(digest) }
    await visit.ask { _ in for digest in digests { _ = await access.clear(digest) } }
  }

  private func outdate(_ url: [UInt8]?) {
    access.condemn(url)
    changes.note(url)
    flights.leave(url)
  }

  /// Cancels what is validated behind answers that were given already, and begins no more of it. Requests go on being
  /// answered.
  public func shutDown() { revalidations.shutDown() }

  /// How many requests wait for transfers that they share, those that carry them out among them.
  package var waiting: Int { flights.waiting }

  /// Waits until nothing is being validated behind answers: for a program that is about to end. Ends soon
  /// when the task is cancelled.
  public func finishRevalidations() async { await revalidations.ended() }
}
