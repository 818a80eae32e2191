// SPDX-License-Identifier: Apache-2.0
#ifndef CLASTRO_ZLIB_H
#define CLASTRO_ZLIB_H

#if !__has_include(<zlib.h>)
#error "<zlib.h> is missing: install zlib1g-dev (its name on Debian and Ubuntu)"
#endif

#include <zlib.h>

// `deflateInit2` and `inflateInit2` are macros, which Swift does not see.

/// A raw deflate stream (RFC 1951), windowBits 8 to 15. Z_OK, or zlib's error.
int clastro_deflate_init(z_stream *stream, int level, int window_bits);

/// The way back.
int clastro_inflate_init(z_stream *stream, int window_bits);

#endif
