// SPDX-License-Identifier: Apache-2.0
#ifndef CLASTROHTTP2_H
#define CLASTROHTTP2_H

// Reports a missing header with the package to install, before the compiler reports only that a file is not found.
#if !__has_include(<nghttp2/nghttp2.h>)
#error "<nghttp2/nghttp2.h> is missing: install libnghttp2-dev (its name on Debian and Ubuntu)"
#endif
#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
// The system calls of an event loop that Swift's Glibc module does not have.
#include <sys/epoll.h>
#include <sys/eventfd.h>

#pragma clang assume_nonnull begin

/// Sets the name of the calling thread, at most 15 bytes, for debuggers and `ps`.
void clastro_name_thread(const char *name);

/// Marks the calling thread as the thread of an event loop.
void clastro_mark_loop_thread(void);
bool clastro_is_loop_thread(void);

/// Makes the options of a client's session, of which some are missing in older versions of nghttp2. Returns NULL if
/// there is no memory.
///
/// - Parameters:
///   - streams_before_settings: the number of concurrent streams until the server states its limit.
///   - header_table_bytes: the maximum size of the table that compresses request heads.
///   - head_bytes: the maximum size of a request's head or trailers, with 12 bytes added for each field and 17 bytes
///     for the whole.
nghttp2_option *_Nullable clastro_http2_option(
  uint32_t streams_before_settings, size_t header_table_bytes, size_t head_bytes);

#pragma clang assume_nonnull end

#endif
