// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

enum exit_status { EXIT_FAILED = 1, EXIT_CANNOT = 3 };

// A measurement with an error in it is none: whatever fails ends the program with status 1 and no number.
__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...);

// Like fail, with the text of errno.
__attribute__((noreturn)) void fail_errno(const char *what);

void check_easy(CURLcode code, const char *what);
void check_multi(CURLMcode code, const char *what);

// realloc that never returns NULL.
void *grown(void *memory, size_t count, size_t size);
