// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

#include <nghttp2/nghttp2.h>

#include "CLoopback.h"

cloopback_hpack *cloopback_hpack_new(void) {
  cloopback_hpack *hpack = NULL;
  return nghttp2_hd_inflate_new(&hpack) == 0 ? hpack : NULL;
}

void cloopback_hpack_free(cloopback_hpack *hpack) { nghttp2_hd_inflate_del(hpack); }

bool cloopback_hpack_decode(cloopback_hpack *hpack, const uint8_t *block, size_t length, cloopback_field_callback field,
                            void *context) {
  while (true) {
    nghttp2_nv pair;
    int flags = 0;
    ssize_t used = nghttp2_hd_inflate_hd2(hpack, &pair, &flags, block, length, 1);
    if (used < 0) return false;
    block += used;
    length -= (size_t)used;
    if (flags & NGHTTP2_HD_INFLATE_EMIT) field(context, pair.name, pair.namelen, pair.value, pair.valuelen);
    if (flags & NGHTTP2_HD_INFLATE_FINAL) return nghttp2_hd_inflate_end_headers(hpack) == 0;
    if (!(flags & NGHTTP2_HD_INFLATE_EMIT) && length == 0) return false;
  }
}
