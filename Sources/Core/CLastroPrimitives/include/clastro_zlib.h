// SPDX-License-Identifier: Apache-2.0
#ifndef CLASTRO_ZLIB_H
#define CLASTRO_ZLIB_H

#if !__has_include(<zlib.h>)
#error "<zlib.h> is missing: install zlib1g-dev (its name on Debian and Ubuntu)"
#endif

#include <stddef.h>
#include <zlib.h>

// Swift cannot import `deflateInit2` and `inflateInit2`, because they are macros.

/// Initializes a stream for raw deflate (RFC 1951), with windowBits 8 to 15. Returns Z_OK or zlib's error.
int clastro_deflate_init(z_stream *stream, int level, int window_bits);

/// Initializes a stream for gzip (RFC 1952). Returns Z_OK or zlib's error.
int clastro_gzip_init(z_stream *stream);

/// Initializes a stream for decompressing raw deflate. Returns Z_OK or zlib's error.
int clastro_inflate_init(z_stream *stream, int window_bits);

// Content codings (RFC 9110 §8.4.1).

/// The format around the deflate data: gzip (RFC 1952), zlib (RFC 1950), or none (RFC 1951).
typedef enum { CLASTRO_GZIP, CLASTRO_ZLIB, CLASTRO_RAW } clastro_format;

/// A decompressor with limited and counted memory.
typedef struct clastro_inflater clastro_inflater;

/// Makes a decompressor. Returns NULL if there is no memory.
clastro_inflater *clastro_inflater_make(clastro_format format);
void clastro_inflater_free(clastro_inflater *inflater);

/// The maximum number of bytes that zlib can allocate for one inflater. Its window of 32 KiB and its tables take 40
/// KiB.
#define CLASTRO_INFLATER_BYTES (128 * 1024)

/// Returns the number of bytes that zlib has allocated for the inflater.
size_t clastro_inflater_held(const clastro_inflater *inflater);

/// The result of one step.
typedef struct {
  size_t consumed, produced;
  /// Z_OK or Z_BUF_ERROR if decompression can continue, Z_STREAM_END at the end, or zlib's error.
  int status;
} clastro_inflated;

/// Decompresses until the input is used up, the output is full, the stream ends or an error occurs. One call uses at
/// most INT_MAX bytes of each buffer.
clastro_inflated clastro_inflater_run(
  clastro_inflater *inflater, const void *input, size_t input_count, void *output, size_t output_count);

/// Restarts with the same format, for the next member of gzip. Returns Z_OK or zlib's error.
int clastro_inflater_restart(clastro_inflater *inflater);

#endif
