// SPDX-License-Identifier: Apache-2.0

import CLastroSQLite
import FoundationEssentials
import Lastro
import LastroEveryday

/// The contents of the folder, for one thread at a time, which is the queue's.
final class SQLiteContents {
  /// The version of the schema; a database of another version is replaced. Version 1 stored responses fetched with
  /// credentials among the responses for anyone.
  static let schema = 2
  /// The maximum size of a body that is stored in the database instead of a file.
  private static let maximumBlobBytes = 64 * 1024
  /// The assumed cost of a response in addition to its bytes.
  private static let overhead = 512
  private static let maximumVariants = 20
  /// The number of commits between two recounts of the total size: another process may write too.
  private static let commitsBetweenSums = 32
  /// The number of uses that are collected before they are written.
  private static let maximumUses = 100

  private let path: String
  private let files: BodyFiles
  private let maximumBytes: Int64
  private let now: @Sendable () -> Int64
  private var database: SQLiteConnection
  private(set) var key: [UInt8]
  private var bytes: Int64 = 0
  private var commits = 0
  private var uses: [Int64: Int64] = [:]

  init(
    path: String, files: BodyFiles, maximumBytes: Int64, now: @escaping @Sendable () -> Int64
  ) throws(SQLiteFailure) {
    self.path = path
    self.files = files
    self.maximumBytes = maximumBytes
    self.now = now
    key = DigestKey.bytes(from: files.random)
    database = try SQLiteConnection(path: path)
    try prepare()
  }

  /// Creates the tables, counts the total size, and removes files without a row.
  private func prepare() throws(SQLiteFailure) {
    try database.execute("PRAGMA trusted_schema=OFF; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL")
    try database.execute("PRAGMA synchronous=NORMAL")
    let version = try database.rows("PRAGMA user_version").first?.first?.integer
    guard version == 0 || version == Int64(Self.schema) else { throw SQLiteFailure(SQLITE_NOTADB) }
    try database.transaction { () throws(SQLiteFailure) in
      try database.execute(
        """
        CREATE TABLE IF NOT EXISTS secret(id INTEGER PRIMARY KEY, key BLOB NOT NULL) STRICT;
        CREATE TABLE IF NOT EXISTS entry(id INTEGER PRIMARY KEY AUTOINCREMENT, url BLOB NOT NULL,
          partition BLOB NOT NULL, selecting BLOB NOT NULL, head BLOB NOT NULL, size INTEGER NOT NULL,
          length INTEGER NOT NULL, body BLOB, file TEXT, digest BLOB NOT NULL, seal BLOB NOT NULL,
          used INTEGER NOT NULL) STRICT;
        CREATE INDEX IF NOT EXISTS entry_url ON entry(url, partition);
        CREATE INDEX IF NOT EXISTS entry_used ON entry(used);
        PRAGMA user_version=\(Self.schema);
        """)
      try database.rows("INSERT OR IGNORE INTO secret(id, key) VALUES(0, ?)", .blob(key))
    }
    key = try database.rows("SELECT key FROM secret WHERE id = 0").first?.first?.blob ?? key
    try sum()
    let kept = try database.rows("SELECT file FROM entry WHERE file IS NOT NULL").compactMap { $0[0].text }
    files.sweep(keeping: Set(kept), now: now() / 1_000_000)
  }

  private func sum() throws(SQLiteFailure) {
    bytes =
      try database.rows("SELECT CAST(TOTAL(MIN(MAX(size, 0), 1 << 40)) AS INTEGER) FROM entry").first?.first?.integer
      ?? 0
  }

  func heads(for key: CacheKey) throws(SQLiteFailure) -> [StoredHead] {
    let rows = try database.rows(
      """
      SELECT id, selecting, length, head, digest, seal FROM entry WHERE url = ? AND partition = ? \
      ORDER BY id DESC LIMIT \(Self.maximumVariants)
      """, .blob(key.url), .blob(key.partition))
    var heads: [StoredHead] = []
    for row in rows {
      guard let id = row[0].integer else { continue }
      if let head = head(row, id, key) { heads.append(head) } else { try remove(id) }
    }
    return heads
  }

  /// Returns the head of a row; `nil` if the row's seal does not match.
  private func head(_ row: [SQLiteConnection.Value], _ id: Int64, _ place: CacheKey) -> StoredHead? {
    guard let selecting = row[1].blob, let length = row[2].integer, let bytes = row[3].blob,
      let digest = row[4].blob, let seal = row[5].blob,
      seal == StoredRow.seal(key, place, selecting: selecting, length: length, digest: digest, head: bytes)
    else { return nil }
    return (try? JSONDecoder().decode(StoredRow.self, from: Data(bytes)))?
      .head(id: id, selecting: selecting, length: length)
  }

  /// Returns the body if it is the one that was written. Otherwise removes the response.
  func body(of id: Int64) throws(SQLiteFailure) -> Data? {
    guard let row = try database.rows("SELECT length, body, file, digest FROM entry WHERE id = ?", .integer(id)).first
    else { return nil }
    let length = row[0].integer ?? -1
    let body = row[1].blob.map { Data($0) } ?? row[2].text.flatMap { files.body(of: $0, length: length) }
    guard let body, Int64(body.count) == length, row[3].blob == Self.digest(body) else {
      try remove(id)
      return nil
    }
    uses[id] = now()
    if uses.count >= Self.maximumUses { try? writeUses() }
    return body
  }

  func writeUses() throws(SQLiteFailure) {
    guard !uses.isEmpty else { return }
    let all = uses
    uses = [:]
    try database.transaction { () throws(SQLiteFailure) in
      for (id, time) in all {
        try database.rows("UPDATE entry SET used = ? WHERE id = ?", .integer(time), .integer(id))
      }
    }
  }

  /// Stores a response, replacing the one with the same key and selection.
  func add(_ head: StoredHead, _ body: Data, for place: CacheKey) throws(SQLiteFailure) -> Bool {
    guard let bytes = try? JSONEncoder().encode(StoredRow(head)), let digest = Self.digest(body),
      let seal = StoredRow.seal(
        key, place, selecting: head.selecting, length: Int64(body.count), digest: digest, head: Array(bytes))
    else { return false }
    let size = Int64(Self.overhead + bytes.count + body.count)
    guard size <= maximumBytes else { return false }
    var file: String?
    if body.count > Self.maximumBlobBytes {
      file = files.add(body)
      guard file != nil else { throw SQLiteFailure(SQLITE_FULL) }
    }
    do throws(SQLiteFailure) {
      try insert(
        place, head.selecting, Array(bytes), size, body, file, digest, seal)
    } catch {
      if let file { files.remove(file) }
      // Restore the size that the rolled-back deletion subtracted.
      try? sum()
      throw error
    }
    self.bytes += size
    try trim()
    return true
  }

  private func insert(
    _ place: CacheKey, _ selecting: [UInt8], _ head: [UInt8], _ size: Int64, _ body: Data, _ file: String?,
    _ digest: [UInt8], _ seal: [UInt8]
  ) throws(SQLiteFailure) {
    var replaced: [String] = []
    try database.transaction { () throws(SQLiteFailure) in
      replaced = try deleteForOneMore(place, selecting)
      try database.rows(
        """
        INSERT INTO entry(url, partition, selecting, head, size, length, body, file, digest, seal, used) \
        VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """, .blob(place.url), .blob(place.partition), .blob(selecting), .blob(head), .integer(size),
        .integer(Int64(body.count)), file == nil ? .blob(Array(body)) : .null, file.map { .text($0) } ?? .null,
        .blob(digest), .blob(seal), .integer(now()))
      guard files.onStep(.inserted) == 0 else { throw SQLiteFailure(SQLITE_FULL) }
    }
    for name in replaced { files.remove(name) }
  }

  /// Deletes the replaced row, and the oldest rows if the key has too many. Returns the files that no row names any
  /// more.
  private func deleteForOneMore(_ place: CacheKey, _ selecting: [UInt8]) throws(SQLiteFailure) -> [String] {
    try database.rows(
      """
      DELETE FROM entry WHERE url = ?1 AND partition = ?2 AND (selecting = ?3 OR id NOT IN (SELECT id FROM entry \
      WHERE url = ?1 AND partition = ?2 ORDER BY id DESC LIMIT \(Self.maximumVariants - 1))) RETURNING file, size
      """, .blob(place.url), .blob(place.partition), .blob(selecting)
    ).compactMap { row in
      bytes -= Self.plausible(row[1].integer)
      return row[0].text
    }
  }

  /// Removes the least recently used responses until at most nine tenths of the limit are in use.
  private func trim() throws(SQLiteFailure) {
    commits += 1
    if bytes > maximumBytes || commits.isMultiple(of: Self.commitsBetweenSums) { try sum() }
    guard bytes > maximumBytes else { return }
    try writeUses()
    while bytes > maximumBytes / 10 * 9 {
      let oldest = try database.rows("SELECT id FROM entry ORDER BY used, id LIMIT 64").compactMap { $0[0].integer }
      if oldest.isEmpty { break }
      for id in oldest where bytes > maximumBytes / 10 * 9 { try remove(id) }
    }
    try database.execute("PRAGMA incremental_vacuum")
  }

  func freshen(_ head: StoredHead) throws(SQLiteFailure) {
    let id = head.id.rawValue
    guard
      let row = try database.rows(
        "SELECT url, partition, selecting, length, digest, size FROM entry WHERE id = ?", .integer(id)
      ).first, let url = row[0].blob, let partition = row[1].blob, let selecting = row[2].blob,
      let length = row[3].integer, let digest = row[4].blob, let bytes = try? JSONEncoder().encode(StoredRow(head)),
      let seal = StoredRow.seal(
        key, CacheKey(url: url, partition: partition), selecting: selecting, length: length, digest: digest,
        head: Array(bytes))
    else { return }
    let size = Int64(Self.overhead + bytes.count) + Self.plausible(length)
    try database.rows(
      "UPDATE entry SET head = ?, seal = ?, size = ?, used = ? WHERE id = ?", .blob(Array(bytes)), .blob(seal),
      .integer(size), .integer(now()), .integer(id))
    self.bytes += size - Self.plausible(row[5].integer)
    try trim()
  }

  func remove(_ id: Int64) throws(SQLiteFailure) {
    try removeRows("id = ?", .integer(id))
  }

  func removeAll(ofURL url: [UInt8]) throws(SQLiteFailure) {
    try removeRows("url = ?", .blob(url))
  }

  func removeAll() throws(SQLiteFailure) {
    try removeRows("id > ?", .integer(0))
    try database.execute("PRAGMA incremental_vacuum")
  }

  /// Returns a size clamped as in the sum: the file may have been written to by others, with any number.
  private static func plausible(_ size: Int64?) -> Int64 { min(max(size ?? 0, 0), 1 << 40) }

  private func removeRows(_ condition: String, _ value: SQLiteConnection.Value) throws(SQLiteFailure) {
    for row in try database.rows("DELETE FROM entry WHERE \(condition) RETURNING file, size", value) {
      bytes -= Self.plausible(row[1].integer)
      if let file = row[0].text { files.remove(file) }
    }
  }

  private static func digest(_ body: Data) -> [UInt8]? { (try? MessageDigest(of: body))?.bytes }
}
