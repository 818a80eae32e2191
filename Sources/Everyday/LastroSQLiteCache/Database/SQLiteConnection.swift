// SPDX-License-Identifier: Apache-2.0

import CLastroSQLite

/// A connection to a database, for one thread at a time.
package final class SQLiteConnection {
  /// A value that is bound to a statement, or read from a row.
  enum Value {
    case null
    case integer(Int64)
    case blob([UInt8])
    case text(String)

    var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    var blob: [UInt8]? { if case .blob(let value) = self { value } else { nil } }
    var text: String? { if case .text(let value) = self { value } else { nil } }
  }

  private let handle: OpaquePointer
  private var statements: [String: OpaquePointer] = [:]

  package init(path: String) throws(SQLiteFailure) {
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
    let code = sqlite3_open_v2(path, &handle, flags, nil)
    guard code == SQLITE_OK, let handle else {
      sqlite3_close_v2(handle)
      throw SQLiteFailure(code)
    }
    self.handle = handle
    sqlite3_busy_timeout(handle, 250)
  }

  deinit {
    for statement in statements.values { sqlite3_finalize(statement) }
    sqlite3_close_v2(handle)
  }

  /// The rowid of the latest insertion.
  var lastID: Int64 { sqlite3_last_insert_rowid(handle) }

  /// Runs statements without values.
  package func execute(_ sql: String) throws(SQLiteFailure) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw SQLiteFailure(code) }
  }

  /// Runs a statement and returns its rows. The prepared statement is kept for the next call.
  @discardableResult
  func rows(_ sql: String, _ values: Value...) throws(SQLiteFailure) -> [[Value]] {
    let statement = try prepared(sql)
    defer {
      sqlite3_reset(statement)
      sqlite3_clear_bindings(statement)
    }
    for (index, value) in values.enumerated() { try bind(value, to: statement, Int32(index + 1)) }
    var rows: [[Value]] = []
    while true {
      let code = sqlite3_step(statement)
      if code == SQLITE_DONE { return rows }
      guard code == SQLITE_ROW else { throw SQLiteFailure(code) }
      rows.append((0..<sqlite3_column_count(statement)).map { Self.value(of: statement, $0) })
    }
  }

  /// Runs the body in a transaction, and rolls it back if the body throws.
  func transaction(_ body: () throws(SQLiteFailure) -> Void) throws(SQLiteFailure) {
    try execute("BEGIN IMMEDIATE")
    do throws(SQLiteFailure) {
      try body()
      try execute("COMMIT")
    } catch {
      try? execute("ROLLBACK")
      throw error
    }
  }

  private func prepared(_ sql: String) throws(SQLiteFailure) -> OpaquePointer {
    if let statement = statements[sql] { return statement }
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let statement else { throw SQLiteFailure(code) }
    statements[sql] = statement
    return statement
  }

  private func bind(_ value: Value, to statement: OpaquePointer, _ index: Int32) throws(SQLiteFailure) {
    let code =
      switch value {
      case .null: sqlite3_bind_null(statement, index)
      case .integer(let number): sqlite3_bind_int64(statement, index, number)
      case .blob(let bytes):
        bytes.withUnsafeBytes { clastro_sqlite_bind_blob(statement, index, $0.baseAddress, Int32($0.count)) }
      case .text(let text): clastro_sqlite_bind_text(statement, index, text, Int32(text.utf8.count))
      }
    guard code == SQLITE_OK else { throw SQLiteFailure(code) }
  }

  private static func value(of statement: OpaquePointer, _ column: Int32) -> Value {
    switch sqlite3_column_type(statement, column) {
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
    case SQLITE_BLOB:
      let count = Int(sqlite3_column_bytes(statement, column))
      guard count > 0, let bytes = sqlite3_column_blob(statement, column) else { return .blob([]) }
      return .blob(Array(UnsafeRawBufferPointer(start: bytes, count: count)))
    case SQLITE_TEXT:
      let count = Int(sqlite3_column_bytes(statement, column))
      guard let text = sqlite3_column_text(statement, column) else { return .text("") }
      return .text(String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self))
    default: return .null
    }
  }
}
