// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro
public import LastroCache
internal import LastroSupport

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Keeps answers in a folder, over SQLite: they are there when the program is started again.
///
/// ```swift
/// let store = try SQLiteCacheStore(directory: "/var/cache/example/http")
/// configuration.cache = HTTPCache(store: store)
/// ```
///
/// Bodies over 64 KiB are files. An answer is found when all of it is on the disk: the end of a process at any moment
/// leaves no half of one. What is not byte for byte what was written does not answer, and goes; a database that is none
/// is begun anew. A disk that is full keeps nothing, and fails no fetch; without one that hangs fetches go on after a
/// second. Several processes may share the folder.
///
/// While its body comes, and when it answers, an answer is in memory. What was asked for with credentials, and is not
/// for anyone as `public` answers are, or sets a cookie, stays there, unless `persistsCredentialed`. Nothing is
/// encrypted: the folder is for its owner alone (0700).
public final class SQLiteCacheStore: HTTPCacheStore {
  /// The folder.
  public let directory: String
  private let maximumEntryBytes: Int
  private let persistsCredentialed: Bool
  private let memory: MemoryCacheStore
  private let queue = StoreQueue()
  private let folder: SQLiteFolder

  /// Opens the folder, and makes it where it is not there. Blocks while it reads.
  ///
  /// - Parameters:
  ///   - directory: for this store alone. Its parent has to be there, and may be reached by symbolic links; the folder
  ///     itself must not be one.
  ///   - maximumBytes: most bytes in all; beyond them, what was used longest ago goes. Default 256 MiB.
  ///   - maximumEntryBytes: most bytes of one body. Default 16 MiB.
  ///   - persistsCredentialed: whether answers that were asked for with credentials, or for a principal, or that set a
  ///     cookie, are written to the disk too. Default false: they are kept in 64 MiB of memory.
  ///   - time: tells what was used when. Default the system's.
  ///   - random: makes names and the key of digests. Default the system's.
  ///   - onEvent: is told what went wrong, on the store's own thread. Default `nil`.
  /// - Throws: `ConfigurationError` for a limit below 1, and for a folder that cannot be made, or that others may write
  ///   to, or that is another user's.
  public convenience init(
    directory: String, maximumBytes: Int = 256 * 1024 * 1024, maximumEntryBytes: Int = 16 * 1024 * 1024,
    persistsCredentialed: Bool = false, time: TimeSource = .continuous, random: RandomSource = .system,
    onEvent: (@Sendable (SQLiteCacheEvent) -> Void)? = nil
  ) throws(ConfigurationError) {
    try self.init(
      directory: directory, maximumBytes: maximumBytes, maximumEntryBytes: maximumEntryBytes,
      persistsCredentialed: persistsCredentialed, time: time, random: random, onEvent: onEvent, onStep: { _ in 0 })
  }

  /// - Parameter onStep: gives an `errno` in place of the success of a step; for tests.
  package init(
    directory: String, maximumBytes: Int, maximumEntryBytes: Int, persistsCredentialed: Bool, time: TimeSource,
    random: RandomSource, onEvent: (@Sendable (SQLiteCacheEvent) -> Void)?,
    onStep: @escaping @Sendable (BodyFiles.Step) -> Int32
  ) throws(ConfigurationError) {
    guard maximumBytes > 0, maximumEntryBytes > 0 else {
      throw ConfigurationError(
        "a limit of the cache is \(min(maximumBytes, maximumEntryBytes)), below the minimum of 1",
        hint: "give more than 0 bytes, or no store")
    }
    self.directory = directory
    self.maximumEntryBytes = min(maximumEntryBytes, maximumBytes)
    self.persistsCredentialed = persistsCredentialed
    memory = MemoryCacheStore(random: random)
    folder = try SQLiteFolder(
      directory: directory, maximumBytes: Int64(maximumBytes), time: time, random: random, onEvent: onEvent,
      onStep: onStep)
  }

  /// The key of the folder.
  public func digestKey() async -> [UInt8] { folder.key }

  /// What is kept under a key.
  public func heads(for key: CacheKey) async -> [StoredHead] {
    let inMemory = await memory.heads(for: key).map { head in
      var head = head
      // Names in memory are negative.
      head.id = StoredHead.ID(rawValue: -head.id.rawValue)
      return head
    }
    if key.isPersonal, !persistsCredentialed { return inMemory }
    let onDisk = await perform([]) { contents throws(SQLiteFailure) in try contents.heads(for: key) }
    return inMemory + onDisk.filter(mayBeOnDisk)
  }

  private func mayBeOnDisk(_ head: StoredHead) -> Bool {
    persistsCredentialed || !head.isCredentialed && !head.head.headerFields.contains(.setCookie)
  }

  /// The body, if it is what was written.
  public func body(of id: StoredHead.ID) async -> ResponseBody? {
    if let own = Self.inMemory(id) { return await memory.body(of: own) }
    let bytes = await perform(nil) { contents throws(SQLiteFailure) in try contents.body(of: id.rawValue) }
    return bytes.map { ResponseBody($0) }
  }

  /// Begins to keep an answer, on the disk or in memory.
  public func begin(_ head: StoredHead, for key: CacheKey) async -> (any CacheWriting)? {
    if key.isPersonal && !persistsCredentialed || !mayBeOnDisk(head) { return await memory.begin(head, for: key) }
    return SQLiteCacheWriting(self, head, key, maximumBytes: maximumEntryBytes)
  }

  func add(_ head: StoredHead, _ body: Data, for key: CacheKey) async -> Bool {
    guard folder.mayWrite else { return false }
    return await perform(false, isWriting: true) { contents throws(SQLiteFailure) in
      try contents.add(head, body, for: key)
    }
  }

  /// Puts a head in the place of the one with its name. One on the disk stays as it is where the new one must not be
  /// there.
  public func freshen(_ head: StoredHead) async {
    if let own = Self.inMemory(head.id) {
      var head = head
      head.id = own
      return await memory.freshen(head)
    }
    guard folder.mayWrite, mayBeOnDisk(head) else { return }
    await perform((), isWriting: true) { contents throws(SQLiteFailure) in try contents.freshen(head) }
  }

  /// Removes an answer.
  ///
  /// - Returns: false where the disk does not let go of it.
  @discardableResult
  public func remove(_ id: StoredHead.ID) async -> Bool {
    if let own = Self.inMemory(id) { return await memory.remove(own) }
    return await perform(false) { contents throws(SQLiteFailure) in
      try contents.remove(id.rawValue)
      return true
    }
  }

  /// Removes all answers of a URL.
  ///
  /// - Returns: false where the disk does not let go of them.
  @discardableResult
  public func removeAll(ofURL url: [UInt8]) async -> Bool {
    await memory.removeAll(ofURL: url)
    return await perform(false) { contents throws(SQLiteFailure) in
      try contents.removeAll(ofURL: url)
      return true
    }
  }

  /// Removes all answers.
  ///
  /// - Returns: false where the disk does not let go of them.
  @discardableResult
  public func removeAll() async -> Bool {
    await memory.removeAll()
    return await perform(false) { contents throws(SQLiteFailure) in
      try contents.removeAll()
      return true
    }
  }

  /// Writes which answers were used; without it those of the last uses are thought older than they are.
  public func flush() async { await perform(()) { contents throws(SQLiteFailure) in try contents.writeUses() } }

  private static func inMemory(_ id: StoredHead.ID) -> StoredHead.ID? {
    id.rawValue < 0 ? StoredHead.ID(rawValue: -id.rawValue) : nil
  }

  private func perform<Value: Sendable>(
    _ fallback: Value, isWriting: Bool = false,
    _ body: @escaping @Sendable (SQLiteContents) throws(SQLiteFailure) -> Value
  ) async -> Value {
    let folder = folder
    return await queue.run { folder.perform(isWriting: isWriting, body) ?? fallback } ?? fallback
  }
}

/// Collects a body, which goes to the disk when it is whole.
private final class SQLiteCacheWriting: CacheWriting {
  private let store: SQLiteCacheStore
  private let head: StoredHead
  private let key: CacheKey
  private let maximumBytes: Int
  /// `nil` once it is abandoned or committed.
  private let body = Lock<Data?>(Data())

  init(_ store: SQLiteCacheStore, _ head: StoredHead, _ key: CacheKey, maximumBytes: Int) {
    self.store = store
    self.head = head
    self.key = key
    self.maximumBytes = maximumBytes
  }

  func write(_ piece: Data) async -> Bool {
    body.withLock { body in
      guard let count = body?.count, count + piece.count <= maximumBytes else {
        body = nil
        return false
      }
      body?.append(piece)
      return true
    }
  }

  func commit() async -> Bool {
    guard let bytes = body.withLock({ $0.take() }) else { return false }
    return await store.add(head, bytes, for: key)
  }

  func abandon() { body.withLock { $0 = nil } }
}
