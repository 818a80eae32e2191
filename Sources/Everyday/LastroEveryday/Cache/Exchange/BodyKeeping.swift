// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

/// Everything needed to store a response once its body is complete.
struct BodyKeeping: Sendable {
  let head: StoredHead
  let key: CacheKey
  /// The stored response that this one replaces.
  let replaced: StoredHead.ID?
  let reading: ChangeCounts.Reading
  let access: StoreAccess

  /// Stores a body that is in memory.
  func keep(_ body: Data, in store: any HTTPCacheStore) async -> Bool {
    guard reading.isTrue, let writing = await store.begin(head, for: key) else { return false }
    guard await writing.write(body) else {
      writing.abandon()
      return false
    }
    return await commit(writing, in: store)
  }

  /// Commits a complete body, unless the response has become outdated meanwhile.
  func commit(_ writing: any CacheWriting, in store: any HTTPCacheStore) async -> Bool {
    guard reading.isTrue, await writing.commit() else {
      writing.abandon()
      return false
    }
    if let replaced { _ = await store.remove(replaced) }
    if reading.isTrue { return true }
    // The store may have been cleared before this response reached it.
    access.condemn(key.url)
    _ = await access.clear(key.url)
    return false
  }
}
