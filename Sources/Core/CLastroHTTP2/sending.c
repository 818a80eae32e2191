// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <stdlib.h>
#include <string.h>

enum { FRAME_HEAD = 9, FRAME_TYPE = 3, FRAME_FLAGS = 4 };
// The smallest payload of a DATA frame that is made to fill the remaining room, unless nothing has been written yet.
enum { SMALLEST_PIECE = 1024 };
// Heads with more fields are copied to the heap when they are submitted.
enum { USUAL_FIELDS = 64 };

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *context) {
  (void)session;
  clastro_http2 *http2 = context;
  int32_t stream = frame->hd.stream_id;
  bool ends = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
  switch (frame->hd.type) {
  case NGHTTP2_HEADERS:
    http2->events.sent_head(http2->context, stream, clastro_http2_slot(http2, stream), ends);
    break;
  case NGHTTP2_DATA:
    http2->events.sent_data(http2->context, stream, clastro_http2_slot(http2, stream), frame->hd.length, ends);
    break;
  case NGHTTP2_GOAWAY:
    http2->events.sent_going_away(
      http2->context, frame->goaway.error_code, frame->goaway.opaque_data, frame->goaway.opaque_data_len);
    break;
  default: break;
  }
  return 0;
}

static int on_frame_not_send(nghttp2_session *session, const nghttp2_frame *frame, int error, void *context) {
  (void)session;
  clastro_http2 *http2 = context;
  int32_t stream = frame->hd.stream_id;
  if (frame->hd.type != NGHTTP2_HEADERS || error == NGHTTP2_ERR_START_STREAM_NOT_ALLOWED) return 0;
  http2->events.not_sent(http2->context, stream, clastro_http2_slot(http2, stream), nghttp2_strerror(error));
  return 0;
}

static ssize_t read_body(nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t length, uint32_t *flags,
                         nghttp2_data_source *source, void *context) {
  (void)session, (void)buffer;
  clastro_http2 *http2 = context;
  size_t room = http2->room - http2->written;
  // If nothing has been written, one byte of payload is enough. Otherwise a small room would block the body for ever.
  if (room < FRAME_HEAD + (http2->written > 0 ? SMALLEST_PIECE : 1)) return NGHTTP2_ERR_PAUSE;
  room -= FRAME_HEAD;
  clastro_http2_piece piece =
    http2->events.piece(http2->context, stream, (uintptr_t)source->ptr, room < length ? room : length);
  if (piece.is_dry) return NGHTTP2_ERR_DEFERRED;
  *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (piece.is_last) *flags |= NGHTTP2_DATA_FLAG_EOF;
  if (piece.has_trailers) *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
  return (ssize_t)piece.count;
}

static int send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t length,
                     nghttp2_data_source *source, void *context) {
  (void)session;
  clastro_http2 *http2 = context;
  memcpy(http2->output + http2->written, head, FRAME_HEAD);
  http2->written += FRAME_HEAD;
  if (length > 0) {
    http2->events.take(
      http2->context, frame->hd.stream_id, (uintptr_t)source->ptr, http2->output + http2->written, length);
  }
  http2->written += length;
  return 0;
}

void clastro_http2_set_sending(nghttp2_session_callbacks *callbacks) {
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
  nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_send);
  nghttp2_session_callbacks_set_send_data_callback(callbacks, send_data);
}

/// Copies as much of the held frame as fits.
static void flush(clastro_http2 *http2) {
  size_t count = http2->room - http2->written;
  if (count > http2->held_count) count = http2->held_count;
  bool is_cut = !http2->has_begun_held && count < http2->held_count;
  if (count == 0 || (is_cut && http2->ends_with_frame && http2->held_count <= CLASTRO_HTTP2_RECORD_BYTES)) return;
  http2->has_begun_held = true;
  memcpy(http2->output + http2->written, http2->held, count);
  http2->written += count;
  http2->held += count;
  http2->held_count -= count;
}

static void hold(clastro_http2 *http2, const uint8_t *frame, size_t count) {
  http2->held = frame;
  http2->held_count = count;
  http2->has_begun_held = false;
}

/// Collects the field block of a head, of which nghttp2 has returned the first frame. Returns NULL if there is no
/// memory or nghttp2 fails.
static uint8_t *field_block(clastro_http2 *http2, const uint8_t *frame, size_t count, size_t *length) {
  uint8_t *block = NULL;
  *length = 0;
  for (;;) {
    size_t more = count - FRAME_HEAD;
    uint8_t *grown = realloc(block, *length + more + 1);
    if (!grown) break;
    block = grown;
    memcpy(block + *length, frame + FRAME_HEAD, more);
    *length += more;
    if (frame[FRAME_FLAGS] & NGHTTP2_FLAG_END_HEADERS) return block;
    ssize_t next = nghttp2_session_mem_send(http2->session, &frame);
    if (next < FRAME_HEAD) break;
    count = (size_t)next;
  }
  free(block);
  return NULL;
}

/// Splits a head whose first frame is larger than a TLS record into frames that fit into a record. A record must also
/// hold the frame's header, but nghttp2 fills frames with up to 16,384 bytes besides it.
static bool recut(clastro_http2 *http2, const uint8_t *frame, size_t count) {
  uint8_t head[FRAME_HEAD];
  memcpy(head, frame, sizeof head);
  size_t length = 0, most = CLASTRO_HTTP2_RECORD_BYTES - FRAME_HEAD;
  uint8_t *block = field_block(http2, frame, count, &length);
  uint8_t *to = block ? malloc(length + (length / most + 1) * FRAME_HEAD) : NULL;
  http2->recut = to;
  for (size_t start = 0; to && start < length; start += most) {
    size_t piece = length - start < most ? length - start : most;
    uint8_t flags = start == 0 ? head[FRAME_FLAGS] & ~NGHTTP2_FLAG_END_HEADERS : 0;
    if (start + piece == length) flags |= NGHTTP2_FLAG_END_HEADERS;
    uint8_t kind = start == 0 ? NGHTTP2_HEADERS : NGHTTP2_CONTINUATION;
    memcpy(to, (uint8_t[]){(uint8_t)(piece >> 16), (uint8_t)(piece >> 8), (uint8_t)piece, kind, flags}, 5);
    memcpy(to + 5, head + 5, 4);
    memcpy(to + FRAME_HEAD, block + start, piece);
    to += FRAME_HEAD + piece;
  }
  if (to) http2->recut_count = (size_t)(to - http2->recut);
  free(block);
  return to;
}

/// Holds the next frame. Returns its number of bytes, 0 if there is none, or -1 on failure.
static ptrdiff_t next_frame(clastro_http2 *http2) {
  const uint8_t *frame = NULL;
  if (http2->recut_next == http2->recut_count) {
    free(http2->recut);
    http2->recut = NULL;
    http2->recut_next = http2->recut_count = 0;
    ssize_t count = nghttp2_session_mem_send(http2->session, &frame);
    if (count <= 0) return count;
    bool is_large = count > CLASTRO_HTTP2_RECORD_BYTES && frame[FRAME_TYPE] == NGHTTP2_HEADERS;
    if (!http2->ends_with_frame || !is_large) {
      hold(http2, frame, (size_t)count);
      return count;
    }
    if (!recut(http2, frame, (size_t)count)) return -1;
  }
  frame = http2->recut + http2->recut_next;
  size_t count = FRAME_HEAD + ((size_t)frame[0] << 16 | (size_t)frame[1] << 8 | frame[2]);
  http2->recut_next += count;
  hold(http2, frame, count);
  return (ptrdiff_t)count;
}

ptrdiff_t clastro_http2_send(clastro_http2 *http2, uint8_t *to, size_t room, bool ends_with_frame) {
  http2->ends_with_frame = ends_with_frame;
  http2->output = to;
  http2->written = 0;
  http2->room = room;
  // nghttp2 keeps the memory of a frame until the next frame is requested.
  flush(http2);
  while (http2->held_count == 0) {
    ptrdiff_t count = next_frame(http2);
    if (count < 0) return -1;
    if (count == 0) break;
    flush(http2);
  }
  return (ptrdiff_t)http2->written;
}

/// Returns the fields in nghttp2's form: in `usual`, or on the heap if they are more than that. NULL if there is no
/// memory.
static nghttp2_nv *make_pairs(
  nghttp2_nv *usual, const uint8_t *bytes, const clastro_http2_field *fields, size_t count) {
  nghttp2_nv *pairs = count <= USUAL_FIELDS ? usual : calloc(count, sizeof *pairs);
  for (size_t index = 0; pairs && index < count; index++) {
    const clastro_http2_field *field = fields + index;
    // nghttp2 copies names and values, and does not write to them.
    pairs[index] = (nghttp2_nv){
      .name = (uint8_t *)bytes,
      .namelen = field->name_length,
      .value = (uint8_t *)bytes + field->name_length,
      .valuelen = field->value_length,
      .flags = field->is_sensitive ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE,
    };
    bytes += field->name_length + field->value_length;
  }
  return pairs;
}

int32_t clastro_http2_request(clastro_http2 *http2, uintptr_t slot, const uint8_t *bytes,
                              const clastro_http2_field *fields, size_t count, bool has_body) {
  nghttp2_nv usual[USUAL_FIELDS], *pairs = make_pairs(usual, bytes, fields, count);
  if (!pairs) return NGHTTP2_ERR_NOMEM;
  nghttp2_data_provider provider = {.source = {.ptr = (void *)slot}, .read_callback = read_body};
  int32_t stream = nghttp2_submit_request(
    http2->session, NULL, pairs, count, has_body ? &provider : NULL, (void *)(slot + 1));
  if (pairs != usual) free(pairs);
  return stream;
}

bool clastro_http2_trailers(clastro_http2 *http2, int32_t stream, const uint8_t *bytes,
                            const clastro_http2_field *fields, size_t count) {
  nghttp2_nv usual[USUAL_FIELDS], *pairs = make_pairs(usual, bytes, fields, count);
  bool good = pairs && nghttp2_submit_trailer(http2->session, stream, pairs, count) == 0;
  if (pairs != usual) free(pairs);
  return good;
}
