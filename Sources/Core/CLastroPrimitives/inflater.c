// SPDX-License-Identifier: Apache-2.0
#include "clastro_zlib.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

struct clastro_inflater {
  z_stream stream;
  size_t held;
};

// The size of an allocation, stored in front of the memory that zlib gets. That memory stays aligned for any type.
typedef union {
  size_t size;
  max_align_t alignment;
} block;

static voidpf allocate(voidpf context, uInt items, uInt size) {
  clastro_inflater *inflater = context;
  uint64_t bytes = (uint64_t)items * size;
  if (bytes > CLASTRO_INFLATER_BYTES - inflater->held) return Z_NULL;
  block *memory = malloc(sizeof(block) + (size_t)bytes);
  if (!memory) return Z_NULL;
  memory->size = (size_t)bytes;
  inflater->held += memory->size;
  return memory + 1;
}

static void release(voidpf context, voidpf address) {
  clastro_inflater *inflater = context;
  if (!address) return;
  block *memory = (block *)address - 1;
  inflater->held -= memory->size;
  free(memory);
}

clastro_inflater *clastro_inflater_make(clastro_format format) {
  static const int window_bits[] = {[CLASTRO_GZIP] = 16 + MAX_WBITS, [CLASTRO_ZLIB] = MAX_WBITS, [CLASTRO_RAW] = -MAX_WBITS};
  clastro_inflater *inflater = calloc(1, sizeof(*inflater));
  if (!inflater) return NULL;
  inflater->stream.zalloc = allocate;
  inflater->stream.zfree = release;
  inflater->stream.opaque = inflater;
  if (inflateInit2(&inflater->stream, window_bits[format]) == Z_OK) return inflater;
  free(inflater);
  return NULL;
}

void clastro_inflater_free(clastro_inflater *inflater) {
  if (!inflater) return;
  inflateEnd(&inflater->stream);
  free(inflater);
}

size_t clastro_inflater_held(const clastro_inflater *inflater) { return inflater->held; }

// Limits a count to INT_MAX, because zlib counts in unsigned int.
static uInt clamped(size_t count) { return count > INT_MAX ? INT_MAX : (uInt)count; }

clastro_inflated clastro_inflater_run(
  clastro_inflater *inflater, const void *input, size_t input_count, void *output, size_t output_count) {
  z_stream *stream = &inflater->stream;
  uInt available = clamped(input_count), room = clamped(output_count);
  stream->next_in = (Bytef *)input;
  stream->avail_in = available;
  stream->next_out = output;
  stream->avail_out = room;
  int status = inflate(stream, Z_NO_FLUSH);
  clastro_inflated result = {available - stream->avail_in, room - stream->avail_out, status};
  stream->next_in = Z_NULL;
  stream->avail_in = 0;
  return result;
}

int clastro_inflater_restart(clastro_inflater *inflater) { return inflateReset(&inflater->stream); }
