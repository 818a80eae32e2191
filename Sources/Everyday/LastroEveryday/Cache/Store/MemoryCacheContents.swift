// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes

/// The responses in memory, in the order of their last use.
struct MemoryCacheContents {
  private static let maximumVariants = 20
  /// The assumed cost of a response in addition to its bytes.
  private static let overhead = 512

  private struct Entry {
    var head: StoredHead
    var body: Data
    var key: CacheKey
    var cost: Int
    var newer: Int64?
    var older: Int64?
  }

  private var entries: [Int64: Entry] = [:]
  /// The ids of each key, most recent first.
  private var idsByKey: [CacheKey: [Int64]] = [:]
  private var keysByURL: [[UInt8]: Set<CacheKey>] = [:]
  private var newest: Int64?
  private var oldest: Int64?
  private var lastID: Int64 = 0
  private(set) var bytes = 0

  var count: Int { entries.count }

  func heads(for key: CacheKey) -> [StoredHead] { (idsByKey[key] ?? []).compactMap { entries[$0]?.head } }

  /// Returns the response with an id, and its key.
  func response(_ id: StoredHead.ID) -> (head: StoredHead, body: Data, key: CacheKey)? {
    entries[id.rawValue].map { ($0.head, $0.body, $0.key) }
  }

  mutating func use(_ id: StoredHead.ID) -> Data? {
    guard let body = entries[id.rawValue]?.body else { return nil }
    unlink(id.rawValue)
    linkAsNewest(id.rawValue)
    return body
  }

  /// Adds a response. Returns false if it exceeds the limit even alone, or the one that it would replace is kept.
  mutating func add(
    _ head: StoredHead, _ body: Data, for key: CacheKey, unless keeps: (StoredHead) -> Bool, maximumBytes: Int
  ) -> Bool {
    var head = head
    head.length = Int64(body.count)
    let cost = Self.cost(head, body)
    guard cost <= maximumBytes else { return false }
    for id in idsByKey[key] ?? [] {
      guard let same = entries[id]?.head, same.selecting == head.selecting else { continue }
      if keeps(same) { return false }
      remove(id)
    }
    if let ids = idsByKey[key], ids.count >= Self.maximumVariants, let last = ids.last { remove(last) }
    lastID += 1
    head.id = StoredHead.ID(rawValue: lastID)
    entries[lastID] = Entry(head: head, body: body, key: key, cost: cost)
    linkAsNewest(lastID)
    idsByKey[key, default: []].insert(lastID, at: 0)
    keysByURL[key.url, default: []].insert(key)
    bytes += cost
    evict(downTo: maximumBytes)
    return true
  }

  mutating func freshen(_ head: StoredHead, maximumBytes: Int) {
    guard let entry = entries[head.id.rawValue] else { return }
    let cost = Self.cost(head, entry.body)
    bytes += cost - entry.cost
    entries[head.id.rawValue]?.cost = cost
    entries[head.id.rawValue]?.head = head
    evict(downTo: maximumBytes)
  }

  mutating func remove(_ id: StoredHead.ID) { remove(id.rawValue) }

  mutating func removeAll(ofURL url: [UInt8]) {
    for key in keysByURL[url] ?? [] { for id in idsByKey[key] ?? [] { remove(id) } }
  }

  mutating func removeAll() {
    let last = lastID
    self = MemoryCacheContents()
    // Never reuse an id: a caller with an old id must not get another response's body.
    lastID = last
  }

  private mutating func evict(downTo limit: Int) { while bytes > limit, let oldest { remove(oldest) } }

  private mutating func remove(_ id: Int64) {
    guard let entry = entries[id] else { return }
    unlink(id)
    entries[id] = nil
    bytes -= entry.cost
    idsByKey[entry.key]?.removeAll { $0 == id }
    guard idsByKey[entry.key]?.isEmpty ?? true else { return }
    idsByKey[entry.key] = nil
    keysByURL[entry.key.url]?.remove(entry.key)
    if keysByURL[entry.key.url]?.isEmpty ?? true { keysByURL[entry.key.url] = nil }
  }

  private mutating func unlink(_ id: Int64) {
    guard let entry = entries[id] else { return }
    if let newer = entry.newer { entries[newer]?.older = entry.older } else { newest = entry.older }
    if let older = entry.older { entries[older]?.newer = entry.newer } else { oldest = entry.newer }
  }

  private mutating func linkAsNewest(_ id: Int64) {
    entries[id]?.older = newest
    entries[id]?.newer = nil
    if let newest { entries[newest]?.newer = id }
    newest = id
    oldest = oldest ?? id
  }

  private static func cost(_ head: StoredHead, _ body: Data) -> Int {
    overhead + body.count
      + head.head.headerFields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 4 }
  }
}
