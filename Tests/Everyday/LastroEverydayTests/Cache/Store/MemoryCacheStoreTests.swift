// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroEveryday
import Testing

@Suite("Cache store in memory", .timeLimit(.minutes(15)))
struct MemoryCacheStoreTests {
  static func key(_ url: Int, _ partition: UInt8? = nil) -> CacheKey {
    CacheKey(url: withUnsafeBytes(of: url, Array.init), partition: partition.map { [$0] } ?? [])
  }

  static func head(_ selecting: UInt8? = nil) -> StoredHead {
    StoredHead(
      head: HTTPResponse(status: .ok), requested: .zero, received: .zero, selecting: selecting.map { [$0] } ?? [])
  }

  @discardableResult
  static func add(
    _ store: any HTTPCacheStore, _ key: CacheKey, _ head: StoredHead = head(), body: String = "body"
  ) async -> Bool {
    guard let writing = await store.begin(head, for: key), await writing.write(Data(body.utf8)) else { return false }
    return await writing.commit()
  }

  @Test("The least recently used response is evicted first, and the limit holds")
  func eviction() async {
    let store = MemoryCacheStore(maximumBytes: 3 * (512 + 4))
    for url in 0..<3 { await Self.add(store, Self.key(url)) }
    let first = await store.heads(for: Self.key(0))[0].id
    _ = await store.body(of: first)
    await Self.add(store, Self.key(3))
    #expect(await store.heads(for: Self.key(0)).count == 1)
    #expect(await store.heads(for: Self.key(1)).isEmpty)
    #expect(store.count == 3 && store.bytes == 3 * 516)
  }

  @Test("A hundred thousand responses stay within the limit, and the byte count is correct")
  func many() async {
    let store = MemoryCacheStore(maximumBytes: 1024 * 1024)
    for url in 0..<100_000 { await Self.add(store, Self.key(url)) }
    #expect(store.bytes <= 1024 * 1024 && store.bytes == store.count * 516)
    #expect(store.count == 1024 * 1024 / 516)
    await store.removeAll()
    #expect(store.bytes == 0 && store.count == 0)
  }

  @Test("Twenty variants of a URL are stored, and one with the same selection is replaced")
  func variants() async {
    let store = MemoryCacheStore()
    for selecting in 0..<30 { await Self.add(store, Self.key(0), Self.head(UInt8(selecting))) }
    #expect(await store.heads(for: Self.key(0)).count == 20)
    await Self.add(store, Self.key(0), Self.head(29), body: "new")
    #expect(store.count == 20)
    let newest = await store.heads(for: Self.key(0))[0]
    #expect(await store.body(of: newest.id)?.bytes == Data("new".utf8))
    #expect(newest.length == 3)
  }

  @Test("A response does not replace one with the same selection that is to be kept")
  func kept() async {
    let store = MemoryCacheStore()
    await Self.add(store, Self.key(0), Self.head(1))
    var same = 0
    let isAdded = [UInt8(1), 2].map { selecting in
      store.add(Self.head(selecting), Data("new".utf8), for: Self.key(0)) { _ in
        same += 1
        return true
      }
    }
    #expect(isAdded == [false, true] && same == 1)
    #expect(store.count == 2)
    #expect(!store.add(Self.head(3), Data(count: store.maximumEntryBytes + 1), for: Self.key(0)) { _ in false })
    #expect(store.add(Self.head(1), Data("new".utf8), for: Self.key(0)) { _ in false })
    let lengths = await store.heads(for: Self.key(0)).map(\.length)
    #expect(lengths == [3, 3])
  }

  @Test("A URL is removed in all partitions, and no other URL is")
  func removal() async {
    let store = MemoryCacheStore()
    for partition in [nil, 1, 2] as [UInt8?] { await Self.add(store, Self.key(0, partition)) }
    await Self.add(store, Self.key(1))
    await store.removeAll(ofURL: Self.key(0).url)
    #expect(store.count == 1)
    #expect(await store.heads(for: Self.key(1)).count == 1)
  }

  @Test("A body that was abandoned, too long, or larger than the store, is not found")
  func notKept() async throws {
    let store = MemoryCacheStore(maximumBytes: 600, maximumEntryBytes: 100)
    let writing = try #require(await store.begin(Self.head(), for: Self.key(0)))
    _ = await writing.write(Data("a".utf8))
    writing.abandon()
    #expect(await writing.commit() == false)
    #expect(await Self.add(store, Self.key(0), body: String(repeating: "a", count: 101)) == false)
    #expect(await Self.add(store, Self.key(0), body: String(repeating: "a", count: 99)) == false)
    #expect(await Self.add(store, Self.key(0), body: String(repeating: "a", count: 88)))
    #expect(store.count == 1)
    #expect(MemoryCacheStore(maximumBytes: -1).maximumBytes == 0)
  }

  @Test("An identifier is not reused")
  func names() async {
    let store = MemoryCacheStore()
    await Self.add(store, Self.key(0))
    let old = await store.heads(for: Self.key(0))[0].id
    await store.removeAll()
    await Self.add(store, Self.key(0), body: "other")
    #expect(await store.body(of: old) == nil)
  }
}
