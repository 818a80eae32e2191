// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro
internal import LastroSupport

/// A store in memory that evicts the least recently used responses first.
///
/// A response costs the bytes of its fields and body plus 512. At most 20 responses are stored per URL and partition.
package final class MemoryCacheStore: HTTPCacheStore {
  /// The maximum total cost in bytes. Default 64 MiB.
  package let maximumBytes: Int
  /// The maximum size of one body in bytes. Default 1 MiB.
  package let maximumEntryBytes: Int
  private let key: [UInt8]
  private let state = Lock(MemoryCacheContents())

  /// Creates an empty store.
  ///
  /// - Parameters:
  ///   - maximumBytes: the maximum total cost. Default 64 MiB; a negative value counts as 0.
  ///   - maximumEntryBytes: the maximum size of one body. Default 1 MiB; a negative value counts as 0.
  ///   - random: the source of the digests' key. Default: the system's.
  package init(
    maximumBytes: Int = 64 * 1024 * 1024, maximumEntryBytes: Int = 1024 * 1024, random: RandomSource = .system
  ) {
    self.maximumBytes = max(0, maximumBytes)
    self.maximumEntryBytes = min(max(0, maximumEntryBytes), self.maximumBytes)
    key = DigestKey.bytes(from: random)
  }

  /// The total cost of the stored responses in bytes.
  package var bytes: Int { state.withLock { $0.bytes } }

  /// The number of stored responses.
  package var count: Int { state.withLock { $0.count } }

  /// Returns random bytes that were generated with the store.
  package func digestKey() async -> [UInt8] { key }

  /// Returns the responses stored under a key, most recent first.
  package func heads(for key: CacheKey) async -> [StoredHead] { state.withLock { $0.heads(for: key) } }

  /// Returns the body of a response, and marks the response as used.
  package func body(of id: StoredHead.ID) async -> ResponseBody? {
    state.withLock { $0.use(id) }.map { ResponseBody($0) }
  }

  /// Returns the response with an id, and its key, without marking it as used; `nil` if it is gone.
  package func response(_ id: StoredHead.ID) -> (head: StoredHead, body: Data, key: CacheKey)? {
    state.withLock { $0.response(id) }
  }

  /// Stores a response at once.
  ///
  /// - Parameter keeps: returns whether the response that it would replace is kept instead. Default: it is not.
  /// - Returns: false if its body is too large, or another response is kept.
  package func add(
    _ head: StoredHead, _ body: Data, for key: CacheKey, unless keeps: (StoredHead) -> Bool = { _ in false }
  ) -> Bool {
    guard body.count <= maximumEntryBytes else { return false }
    return state.withLock { $0.add(head, body, for: key, unless: keeps, maximumBytes: maximumBytes) }
  }

  /// Begins to store a response.
  package func begin(_ head: StoredHead, for key: CacheKey) async -> (any CacheWriting)? {
    CollectedWriting(maximumBytes: maximumEntryBytes) { [self] body in add(head, body, for: key) }
  }

  /// Replaces the head that has the same id.
  package func freshen(_ head: StoredHead) async { state.withLock { $0.freshen(head, maximumBytes: maximumBytes) } }

  /// Removes a response. Always returns true.
  @discardableResult
  package func remove(_ id: StoredHead.ID) async -> Bool {
    state.withLock { $0.remove(id) }
    return true
  }

  /// Removes all responses of a URL. Always returns true.
  @discardableResult
  package func removeAll(ofURL url: [UInt8]) async -> Bool {
    state.withLock { $0.removeAll(ofURL: url) }
    return true
  }

  /// Removes all responses. Always returns true.
  @discardableResult
  package func removeAll() async -> Bool {
    state.withLock { $0.removeAll() }
    return true
  }
}
