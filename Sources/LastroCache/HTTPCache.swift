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
  }

  /// Removes what is kept of a URL, for all principals.
  ///
  /// - Parameter url: absolute; what it has behind a `#` does not matter.
  /// - Throws: `TransportError` for a text that is no `http` or `https` URL, stage `request`.
  public func remove(_ url: String) async throws(TransportError) {
    let target = try RequestTarget(url)
    await remove(target)
  }

  func remove(_ target: RequestTarget) async {
    let url = "\(target.scheme)://\(target.authority)\(target.pathAndQuery)"
    if let digest = try? CacheKeyring(key: await store.digestKey()).digest(ofURL: url) {
      await store.removeAll(ofURL: digest)
    }
  }

  /// Removes all that is kept.
  public func removeAll() async { await store.removeAll() }

  /// Cancels what is validated behind answers that were given already, and begins no more of it. Requests go on being
  /// answered.
  public func shutDown() { revalidations.shutDown() }

  /// How many requests wait for transfers that they share, those that carry them out among them.
  package var waiting: Int { flights.waiting }

  /// Waits until nothing is being validated behind answers: for a program that is about to end. Ends soon
  /// when the task is cancelled.
  public func finishRevalidations() async { await revalidations.ended() }
}
