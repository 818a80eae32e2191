// SPDX-License-Identifier: Apache-2.0

import CLastroSQLite

/// A failed SQLite call with its primary result code.
package struct SQLiteFailure: Error {
  let code: Int32

  init(_ code: Int32) { self.code = code & 0xFF }

  /// Whether the file is corrupt, or not an SQLite database.
  var isCorruption: Bool { code == SQLITE_CORRUPT || code == SQLITE_NOTADB }

  /// SQLite's description of the code.
  var text: String { String(cString: sqlite3_errstr(code)) }
}
