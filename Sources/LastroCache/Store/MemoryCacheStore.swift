// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Keeps answers in memory, and lets go of those first that were used longest ago.
///
/// An answer costs the bytes of its fields and body, and 512 more. Of one URL and partition 20 are kept at most.
public final class MemoryCacheStore: HTTPCacheStore {
  /// Most bytes in all. Default 64 MiB.
  public let maximumBytes: Int
  /// Most bytes of one body. Default 1 MiB.
  public let maximumEntryBytes: Int
  private let key: [UInt8]
  private let state = Lock(MemoryCacheContents())

  /// Makes a store, which is empty.
  ///
  /// - Parameters:
  ///   - maximumBytes: in all. Default 64 MiB; what is negative is 0.
  ///   - maximumEntryBytes: of one body. Default 1 MiB; what is negative is 0.
  ///   - random: the key of digests is made of it. Default the system's.
  public init(
    maximumBytes: Int = 64 * 1024 * 1024, maximumEntryBytes: Int = 1024 * 1024, random: RandomSource = .system
  ) {
    self.maximumBytes = max(0, maximumBytes)
    self.maximumEntryBytes = min(max(0, maximumEntryBytes), self.maximumBytes)
    key = DigestKey.bytes(from: random)
  }

  /// Bytes of all that is kept, by the count of the limit.
  public var bytes: Int { state.withLock { $0.bytes } }

  /// Number of answers.
  public var count: Int { state.withLock { $0.count } }

  /// Random bytes, made with the store.
  public func digestKey() async -> [UInt8] { key }

  /// What is kept under a key, the latest first.
  public func heads(for key: CacheKey) async -> [StoredHead] { state.withLock { $0.heads(for: key) } }

  /// The body; the answer counts as used.
  public func body(of id: StoredHead.ID) async -> ResponseBody? {
    state.withLock { $0.use(id) }.map { ResponseBody($0) }
  }

  /// Begins to keep an answer.
  public func begin(_ head: StoredHead, for key: CacheKey) async -> (any CacheWriting)? {
    MemoryCacheWriting(self, head, key)
  }

  func add(_ head: StoredHead, _ body: Data, for key: CacheKey) -> Bool {
    state.withLock { $0.add(head, body, for: key, maximumBytes: maximumBytes) }
  }

  /// Puts a head in the place of the one with its name.
  public func freshen(_ head: StoredHead) async { state.withLock { $0.freshen(head, maximumBytes: maximumBytes) } }

  /// Removes an answer. Always true.
  @discardableResult
  public func remove(_ id: StoredHead.ID) async -> Bool {
    state.withLock { $0.remove(id) }
    return true
  }

  /// Removes all answers of a URL. Always true.
  @discardableResult
  public func removeAll(ofURL url: [UInt8]) async -> Bool {
    state.withLock { $0.removeAll(ofURL: url) }
    return true
  }

  /// Removes all answers. Always true.
  @discardableResult
  public func removeAll() async -> Bool {
    state.withLock { $0.removeAll() }
    return true
  }
}

/// Collects a body in memory.
private final class MemoryCacheWriting: CacheWriting {
  private let store: MemoryCacheStore
  private let head: StoredHead
  private let key: CacheKey
  /// `nil` once it is abandoned or committed.
  private let body = Lock<Data?>(Data())

  init(_ store: MemoryCacheStore, _ head: StoredHead, _ key: CacheKey) {
    self.store = store
    self.head = head
    self.key = key
  }

  func write(_ piece: Data) async -> Bool {
    body.withLock { body in
      guard let count = body?.count, count + piece.count <= store.maximumEntryBytes else {
        body = nil
        return false
      }
      body?.append(piece)
      return true
    }
  }

  func commit() async -> Bool {
    guard let bytes = body.withLock({ $0.take() }) else { return false }
    return store.add(head, bytes, for: key)
  }

  func abandon() { body.withLock { $0 = nil } }
}
