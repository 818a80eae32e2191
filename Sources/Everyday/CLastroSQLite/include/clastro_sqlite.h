// SPDX-License-Identifier: Apache-2.0
// The door to SQLite: what Swift cannot import of it.
#ifndef CLASTRO_SQLITE_H
#define CLASTRO_SQLITE_H

#include <sqlite3.h>

// Binds a copy of the bytes; an empty blob where there are none.
int clastro_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count);
// Binds a copy of the text, whose length is counted.
int clastro_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count);

#endif
