// SPDX-License-Identifier: Apache-2.0

public import Lastro
public import LastroEveryday

extension HTTPCache {
  /// Creates a cache that keeps its responses in a folder, based on SQLite. They survive a restart of the program.
  ///
  /// ```swift
  /// configuration.cache = try HTTPCache(directory: "/var/cache/example/http")
  /// ```
  ///
  /// The folder is opened, and created if it is missing; this blocks while it reads. Bodies over 64 KiB are files. A
  /// response can be found once all of it is on the disk, so a crash at any moment leaves no partial response. A
  /// response that differs from what was written is removed and not served; an invalid database is replaced by an empty
  /// one. A full disk stores nothing and fails no fetch; if the disk hangs, fetches proceed without the store after one
  /// second. Several processes may share the folder.
  ///
  /// A response is in memory while it is received and while it is served. A response that sets a cookie, or that was
  /// requested with credentials and is not `public`, stays in memory unless `persistsCredentialed` is set. Nothing is
  /// encrypted: only the folder's owner may access it (0700).
  ///
  /// - Parameters:
  ///   - directory: the path of a folder for this cache alone. Its parent must exist, and may be reached by symbolic
  ///     links; the folder itself must not be a symbolic link.
  ///   - maximumBytes: the maximum total size; beyond it, the least recently used responses are evicted. Default 256
  ///     MiB.
  ///   - maximumEntryBytes: the maximum size of one body. Default 16 MiB.
  ///   - persistsCredentialed: whether responses that were requested with credentials or for a principal, or that set a
  ///     cookie, are also written to the disk. Default false: they are kept in 64 MiB of memory.
  ///   - partitioning: the set of requests that may share a response. Default `byPrincipal`.
  ///   - heuristicFraction: the fraction of the time since `Last-Modified` for which a response without explicit
  ///     freshness is fresh. Default 0.1.
  ///   - staleWhenUnreachable: the time for which a stale response may be served while the server is unreachable.
  ///     Default `nil`: only as long as `stale-if-error` says.
  ///   - collapsesEqualRequests: whether equal simultaneous requests share one transfer. Default true.
  ///   - addsCacheStatus: whether the cache adds a member to the `Cache-Status` field of responses. Default false.
  ///   - readsNoVarySearch: whether the cache follows `No-Vary-Search` of responses. Default false.
  ///   - onEvent: called with a text for each event that a program may want to log, and that has failed no fetch: the
  ///     database was corrupt and was created afresh, a response could not be read or stored, or nothing is written for
  ///     a while after three failures. It is called on the calling thread while the folder is opened, and on the
  ///     store's own thread afterwards. Default `nil`.
  /// - Throws: `ConfigurationError` for a limit below 1, and for a folder that cannot be created, that other users may
  ///   access, or that belongs to another user.
  public convenience init(
    directory: String, maximumBytes: Int = 256 * 1024 * 1024, maximumEntryBytes: Int = 16 * 1024 * 1024,
    persistsCredentialed: Bool = false, partitioning: Partitioning = .byPrincipal, heuristicFraction: Double = 0.1,
    staleWhenUnreachable: Duration? = nil, collapsesEqualRequests: Bool = true, addsCacheStatus: Bool = false,
    readsNoVarySearch: Bool = false, onEvent: (@Sendable (String) -> Void)? = nil
  ) throws(ConfigurationError) {
    let store = try SQLiteCacheStore(
      directory: directory, maximumBytes: maximumBytes, maximumEntryBytes: maximumEntryBytes,
      persistsCredentialed: persistsCredentialed, onEvent: onEvent)
    let policy = HTTPCachePolicy(
      partitioning: partitioning, heuristicFraction: heuristicFraction, staleWhenUnreachable: staleWhenUnreachable,
      maximumEntryBytes: max(maximumEntryBytes, HTTPCachePolicy.minimumEntryLimit),
      collapsesEqualRequests: collapsesEqualRequests, addsCacheStatus: addsCacheStatus,
      readsNoVarySearch: readsNoVarySearch)
    self.init(store: store, policy: policy)
  }

  /// Writes the recorded uses of responses to the folder; does nothing for a cache in memory.
  package func flush() async { await (store as? SQLiteCacheStore)?.flush() }
}
