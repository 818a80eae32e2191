// SPDX-License-Identifier: Apache-2.0

import CLastroSQLite

/// A call of SQLite failed, with its primary result code.
package struct SQLiteFailure: Error {
  let code: Int32

  init(_ code: Int32) { self.code = code & 0xFF }

  /// Whether the file is none of SQLite's, or no longer one.
  var isCorruption: Bool { code == SQLITE_CORRUPT || code == SQLITE_NOTADB }

  /// In SQLite's words.
  var text: String { String(cString: sqlite3_errstr(code)) }
}
