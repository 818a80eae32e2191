// SPDX-License-Identifier: Apache-2.0

public import Lastro
public import LastroEveryday
public import Logging

extension HTTPCache {
  /// Returns a cache with the same options whose responses are used by all instances of a service that use the same
  /// store, name and key.
  ///
  /// A request that the memory of its instance cannot answer asks the store once, and then the server. If several
  /// instances make equal requests at once, one of them asks the server, and the others wait for its response, each for
  /// `patience` at most.
  ///
  /// ```swift
  /// configuration.cache = try HTTPCache().shared(in: store, as: "shop", sealedWith: key)
  /// ```
  ///
  /// Responses are shared among the requests that would share them in one instance: see `HTTPCache.Partitioning`. They
  /// are sealed (AES-256-GCM), and the store sees no URLs. A response stays in its instance if its body exceeds
  /// `maximumSharedBytes`, or if it sets a cookie. All instances must reach the same servers by the same names, and have
  /// the same trust settings and the same client certificate.
  ///
  /// A removal holds for all instances: they hear of it when they next ask the store for the URL, and serve what is
  /// fresh in their memory until then. They hear of `HTTPCache.removeAll()` when they next ask the store, at most ten
  /// seconds late.
  ///
  /// If the store is lost or full, each instance has its own cache, and no request fails because of that. Each operation
  /// of the store takes half a second at most; a request whose response is not in memory waits for a few of them, until
  /// the first one fails. The loss and the return are logged once each, and reported by the next request, in its ledger
  /// and metrics. A removal that the store has not heard of is repeated every five seconds.
  ///
  /// - Parameters:
  ///   - store: the store, such as a ``RedisStore``. It may evict records.
  ///   - name: the name of the cache in the store: 1 to 60 characters of visible ASCII.
  ///   - key: the key that seals the responses. Instances with another key or `HTTPCache.Partitioning` share nothing with
  ///     these.
  ///   - maximumSharedBytes: the maximum size of a body that is shared, and of the bodies of all shared variants of a URL
  ///     for one sender together, 1 byte to 1 MiB. The newest variants are kept. Default 256 KiB.
  ///   - patience: the time for which a request waits for an equal one of another instance, 10 ms to 1 min. Default 2 s.
  ///   - logger: the logger of losses. Default: a logger with the label `lastro.fleet`.
  ///   - time: the source of time, the same as that of the stack. Default: the system's.
  /// - Throws: `ConfigurationError` if the cache keeps its responses in a folder or is already shared, the store is a
  ///   ``FileStore``, or a value is out of range.
  public func shared(
    in store: some FleetStore, as name: String, sealedWith key: SealingKey, maximumSharedBytes: Int = 256 * 1024,
    patience: Duration = .seconds(2), logger: Logger = Logger(label: "lastro.fleet"), time: TimeSource = .continuous
  ) throws(ConfigurationError) -> HTTPCache {
    try StoreKey.check("cache name", name)
    guard name.utf8.count <= 60 else {
      throw ConfigurationError(
        "the cache name has \(name.utf8.count) characters, above the limit of 60", hint: "give a short name")
    }
    guard (1...1024 * 1024).contains(maximumSharedBytes) else {
      throw ConfigurationError(
        "the limit of shared bodies is \(maximumSharedBytes), out of range (1 to 1048576)",
        hint: "larger bodies stay in the instance that fetched them")
    }
    guard (Duration.milliseconds(10)...Duration.seconds(60)).contains(patience) else {
      throw ConfigurationError(
        "the patience is \(patience.brief), out of range (10 ms to 1 min)",
        hint: "give a little more than the servers take to respond")
    }
    guard !(store is FileStore) else {
      throw ConfigurationError(
        "a store in a folder cannot hold a cache: it keeps expired values",
        hint: "use a store in Redis, or a cache in a folder for the processes of one host")
    }
    guard let memory = self.store as? MemoryCacheStore else {
      throw ConfigurationError(
        "the cache is in a folder or already shared", hint: "share one that keeps its responses in memory")
    }
    let link = StoreLink("the shared cache \(name)", store, logger: logger, time: time, random: .system)
    // Digests are made with another key than before, so the responses in the given cache cannot be found.
    let local = MemoryCacheStore(maximumBytes: memory.maximumBytes, maximumEntryBytes: memory.maximumEntryBytes)
    let settings = SharedCacheStore.Settings(
      name: name, maximumSharedBytes: maximumSharedBytes, patience: patience, rules: policy.rules, time: time,
      random: .system)
    return HTTPCache(
      store: SharedCacheStore(local, over: link, try CacheCipher(key, cache: name, policy), settings), policy: policy)
  }
}
