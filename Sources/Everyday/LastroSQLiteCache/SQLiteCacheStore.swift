// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
package import Lastro
package import LastroEveryday

/// A store in a folder, based on SQLite. Its responses survive a restart of the program.
///
/// Bodies over 64 KiB are files. A response can be found once all of it is on the disk, so a crash at any moment leaves
/// no partial response. A response that differs from what was written is removed and not served; an invalid database is
/// replaced by an empty one. A full disk stores nothing and fails no fetch; if the disk hangs, fetches proceed without
/// the store after one second. Several processes may share the folder.
///
/// A response is in memory while it is received and while it is served. A response that sets a cookie, or that was
/// requested with credentials and is not `public`, stays in memory unless `persistsCredentialed` is set. Nothing is
/// encrypted: only the folder's owner may access it (0700).
package final class SQLiteCacheStore: HTTPCacheStore {
  /// The path of the folder.
  package let directory: String
  private let maximumEntryBytes: Int
  private let persistsCredentialed: Bool
  private let memory: MemoryCacheStore
  private let queue = StoreQueue()
  private let folder: SQLiteFolder

  /// Opens the folder, and creates it if it is missing. Blocks while it reads.
  ///
  /// - Parameters:
  ///   - directory: the path of a folder for this store alone. Its parent must exist, and may be reached by symbolic
  ///     links; the folder itself must not be a symbolic link.
  ///   - maximumBytes: the maximum total size; beyond it, the least recently used responses are evicted. Default 256
  ///     MiB.
  ///   - maximumEntryBytes: the maximum size of one body. Default 16 MiB.
  ///   - persistsCredentialed: whether responses that were requested with credentials or for a principal, or that set a
  ///     cookie, are also written to the disk. Default false: they are kept in 64 MiB of memory.
  ///   - time: the clock for recording uses. Default: the system's.
  ///   - random: the source of file names and of the digests' key. Default: the system's.
  ///   - onEvent: called with a text for each event of the store that has failed no fetch: on the calling thread while
  ///     the store is opened, and on the store's own thread afterwards. Default `nil`.
  ///   - onStep: returns an `errno` to make a step of writing a file fail, or 0; for tests. Default: no step fails.
  /// - Throws: `ConfigurationError` for a limit below 1, and for a folder that cannot be created, that other users may
  ///   access, or that belongs to another user.
  package init(
    directory: String, maximumBytes: Int = 256 * 1024 * 1024, maximumEntryBytes: Int = 16 * 1024 * 1024,
    persistsCredentialed: Bool = false, time: TimeSource = .continuous, random: RandomSource = .system,
    onEvent: (@Sendable (String) -> Void)? = nil,
    onStep: @escaping @Sendable (BodyFiles.Step) -> Int32 = { _ in 0 }
  ) throws(ConfigurationError) {
    guard maximumBytes > 0, maximumEntryBytes > 0 else {
      throw ConfigurationError(
        "a limit of the cache is \(min(maximumBytes, maximumEntryBytes)), below the minimum of 1",
        hint: "give more than 0 bytes, or leave the cache out")
    }
    self.directory = directory
    self.maximumEntryBytes = min(maximumEntryBytes, maximumBytes)
    self.persistsCredentialed = persistsCredentialed
    memory = MemoryCacheStore(random: random)
    folder = try SQLiteFolder(
      directory: directory, maximumBytes: Int64(maximumBytes), time: time, random: random, onEvent: onEvent,
      onStep: onStep)
  }

  /// Returns the key of the folder.
  package func digestKey() async -> [UInt8] { folder.key }

  /// Returns the responses stored under a key, in memory and on the disk.
  package func heads(for key: CacheKey) async -> [StoredHead] {
    let inMemory = await memory.heads(for: key).map { head in
      var head = head
      // Ids of responses in memory are negative.
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

  /// Returns the body, if it is the one that was written.
  package func body(of id: StoredHead.ID) async -> ResponseBody? {
    if let own = Self.inMemory(id) { return await memory.body(of: own) }
    let bytes = await perform(nil) { contents throws(SQLiteFailure) in try contents.body(of: id.rawValue) }
    return bytes.map { ResponseBody($0) }
  }

  /// Begins to store a response, on the disk or in memory.
  package func begin(_ head: StoredHead, for key: CacheKey) async -> (any CacheWriting)? {
    if key.isPersonal && !persistsCredentialed || !mayBeOnDisk(head) { return await memory.begin(head, for: key) }
    return CollectedWriting(maximumBytes: maximumEntryBytes) { [self] body in
      guard folder.mayWrite else { return false }
      return await perform(false, isWriting: true) { contents throws(SQLiteFailure) in
        try contents.add(head, body, for: key)
      }
    }
  }

  /// Replaces the head that has the same id. A head on the disk stays unchanged if the new one must not be written to
  /// the disk.
  package func freshen(_ head: StoredHead) async {
    if let own = Self.inMemory(head.id) {
      var head = head
      head.id = own
      return await memory.freshen(head)
    }
    guard folder.mayWrite, mayBeOnDisk(head) else { return }
    await perform((), isWriting: true) { contents throws(SQLiteFailure) in try contents.freshen(head) }
  }

  /// Removes a response.
  ///
  /// - Returns: false if it could not be removed from the disk.
  @discardableResult
  package func remove(_ id: StoredHead.ID) async -> Bool {
    if let own = Self.inMemory(id) { return await memory.remove(own) }
    return await perform(false) { contents throws(SQLiteFailure) in
      try contents.remove(id.rawValue)
      return true
    }
  }

  /// Removes all responses of a URL.
  ///
  /// - Returns: false if they could not be removed from the disk.
  @discardableResult
  package func removeAll(ofURL url: [UInt8]) async -> Bool {
    await memory.removeAll(ofURL: url)
    return await perform(false) { contents throws(SQLiteFailure) in
      try contents.removeAll(ofURL: url)
      return true
    }
  }

  /// Removes all responses.
  ///
  /// - Returns: false if they could not be removed from the disk.
  @discardableResult
  package func removeAll() async -> Bool {
    await memory.removeAll()
    return await perform(false) { contents throws(SQLiteFailure) in
      try contents.removeAll()
      return true
    }
  }

  /// Writes the recorded uses to the disk. Without it, recently used responses may be taken for older ones and evicted.
  package func flush() async { await perform(()) { contents throws(SQLiteFailure) in try contents.writeUses() } }

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
