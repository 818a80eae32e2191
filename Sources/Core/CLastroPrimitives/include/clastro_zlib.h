// SPDX-License-Identifier: Apache-2.0
#ifndef CLASTRO_ZLIB_H
#define CLASTRO_ZLIB_H

#if !__has_include(<zlib.h>)
#error "<zlib.h> is missing: install zlib1g-dev (its name on Debian and Ubuntu)"
#endif

#include <stddef.h>
#include <zlib.h>

// `deflateInit2` and `inflateInit2` are macros, which Swift does not see.

/// A raw deflate stream (RFC 1951), windowBits 8 to 15. Z_OK, or zlib's error.
int clastro_deflate_init(z_stream *stream, int level, int window_bits);

/// The way back.
int clastro_inflate_init(z_stream *stream, int window_bits);

// Content codings (RFC 9110 §8.4.1).

/// What is around deflate's data: RFC 1952, RFC 1950, or nothing (RFC 1951).
typedef enum { CLASTRO_GZIP, CLASTRO_ZLIB, CLASTRO_RAW } clastro_format;

/// Decompresses, in counted memory.
typedef struct clastro_inflater clastro_inflater;

/// NULL without memory.
clastro_inflater *clastro_inflater_make(clastro_format format);
void clastro_inflater_free(clastro_inflater *inflater);

/// Most bytes that zlib gets for one inflater: its window of 32 KiB and its tables take 40 KiB.
#define CLASTRO_INFLATER_BYTES (128 * 1024)

/// Bytes that zlib holds for it.
size_t clastro_inflater_held(const clastro_inflater *inflater);

/// What one step did.
typedef struct {
  size_t consumed, produced;
  /// Z_OK or Z_BUF_ERROR to go on, Z_STREAM_END, or what is wrong.
  int status;
} clastro_inflated;

/// Goes on until the input is used up, the output is full, or the stream ends.
clastro_inflated clastro_inflater_run(
  clastro_inflater *inflater, const void *input, size_t input_count, void *output, size_t output_count);

/// Begins anew with the same format, for the next member of gzip. Z_OK, or zlib's error.
int clastro_inflater_restart(clastro_inflater *inflater);

#endif
