// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroEveryday
import LastroSQLiteCache
import LastroSupport
import TestSupport
import Testing

@Suite("Databases changed by another program", .timeLimit(.minutes(15)))
struct SpoiledDatabaseTests {
  private typealias Store = SQLiteCacheStoreTests

  @Test(
    "A row that was altered is never served",
    arguments: [
      "head = replace(head, 'a', 'b')", "url = x'02'", "partition = x'00'", "selecting = x'01'", "length = 4",
      "digest = zeroblob(32)", "seal = zeroblob(32)", "head = x'00'", "body = x'736d616c6d'",
    ])
  func poisonedRow(change: String) async throws {
    let folder = Store.Folder()
    do {
      let store = try SQLiteCacheStore(directory: folder.path, persistsCredentialed: true)
      await Store.add(store, Store.key(1), Store.small)
    }
    let database = try SQLiteConnection(path: folder.database)
    let cast =
      change.hasPrefix("head = replace") ? "head = CAST(replace(CAST(head AS TEXT), 'a', 'b') AS BLOB)" : change
    try database.execute("UPDATE entry SET \(cast)")
    let store = try SQLiteCacheStore(directory: folder.path, persistsCredentialed: true)
    for key in [Store.key(1), Store.key(2), Store.key(1, [0])] { #expect(await Store.body(store, key) == nil) }
    for selecting in await store.heads(for: Store.key(1)) { #expect(selecting.selecting != [1]) }
  }

  @Test(
    "Altered sizes neither end the process nor hide stored responses",
    arguments: ["9223372036854775807", "-9223372036854775808", "-1000000000000000000"])
  func impossibleSizes(size: String) async throws {
    let folder = Store.Folder()
    do {
      let store = try SQLiteCacheStore(directory: folder.path)
      for number in 1...3 { await Store.add(store, Store.key(UInt8(number)), Store.small) }
    }
    #expect(await eventually { !FileManager.default.fileExists(atPath: folder.database + "-wal") })
    try SQLiteConnection(path: folder.database).execute("UPDATE entry SET size = \(size)")
    let store = try SQLiteCacheStore(directory: folder.path)
    for number in 4...8 { await Store.add(store, Store.key(UInt8(number)), Store.small) }
    #expect(await Store.body(store, Store.key(8)) == Store.small)
  }

  @Test(
    "A file that is not a database, or has another version, is replaced", arguments: ["garbage", "version", "middle"])
  func rebuilt(way: String) async throws {
    let folder = Store.Folder()
    do {
      let store = try SQLiteCacheStore(directory: folder.path)
      for number in 1...40 { await Store.add(store, Store.key(UInt8(number)), Data(repeating: 1, count: 5_000)) }
      await Store.add(store, Store.key(0), Store.large)
    }
    // When the store is gone, its thread closes the database, which writes to the file.
    #expect(await eventually { !FileManager.default.fileExists(atPath: folder.database + "-wal") })
    switch way {
    case "garbage": try Data(repeating: 0x41, count: 10_000).write(to: URL(filePath: folder.database))
    case "version": try SQLiteConnection(path: folder.database).execute("PRAGMA user_version=99")
    default:
      try SQLiteConnection(path: folder.database).execute("PRAGMA wal_checkpoint(TRUNCATE)")
      var bytes = try Data(contentsOf: URL(filePath: folder.database))
      for index in 4_096..<bytes.count { bytes[index] = 0x41 }
      try bytes.write(to: URL(filePath: folder.database))
    }
    let events = Lock<[String]>([])
    let store = try SQLiteCacheStore(directory: folder.path, onEvent: { event in events.withLock { $0.append(event) } })
    for number in 0...40 { #expect(await Store.body(store, Store.key(UInt8(number))) == nil) }
    #expect(events.withLock { $0.contains { $0.hasPrefix("the cache was emptied and created afresh: ") } })
    #expect(await Store.add(store, Store.key(1), Store.small))
    #expect(await Store.body(store, Store.key(1)) == Store.small)
    #expect(folder.bodies.isEmpty)
  }

  @Test("A cache reports an invalid database by a text, and works with an empty one")
  func reported() async throws {
    let folder = Store.Folder()
    do { _ = try SQLiteCacheStore(directory: folder.path) }
    #expect(await eventually { !FileManager.default.fileExists(atPath: folder.database + "-wal") })
    try Data(repeating: 0x41, count: 10_000).write(to: URL(filePath: folder.database))
    let events = Lock<[String]>([])
    let cache = try HTTPCache(directory: folder.path) { event in events.withLock { $0.append(event) } }
    await cache.removeAll()
    #expect(events.withLock { $0.contains { $0.hasPrefix("the cache was emptied and created afresh: ") } })
    await cache.flush()
  }
}
