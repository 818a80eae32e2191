// SPDX-License-Identifier: Apache-2.0
// A C shim for the parts of SQLite that Swift cannot import.
#ifndef CLASTRO_SQLITE_H
#define CLASTRO_SQLITE_H

#include <sqlite3.h>

// Binds a copy of the bytes, or an empty blob if `count` is 0.
int clastro_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count);
// Binds a copy of a text of `count` bytes.
int clastro_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count);

#endif
