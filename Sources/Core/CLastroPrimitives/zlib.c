// SPDX-License-Identifier: Apache-2.0
#include "clastro_zlib.h"

int clastro_deflate_init(z_stream *stream, int level, int window_bits) {
  // zlib rejects a raw window of 256 bytes (windowBits 8). Use 9, which zlib itself substitutes for other formats.
  return deflateInit2(stream, level, Z_DEFLATED, window_bits == 8 ? -9 : -window_bits, 8, Z_DEFAULT_STRATEGY);
}

int clastro_gzip_init(z_stream *stream) {
  return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}

int clastro_inflate_init(z_stream *stream, int window_bits) { return inflateInit2(stream, -window_bits); }
