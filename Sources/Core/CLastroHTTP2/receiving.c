// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <stdlib.h>
#include <string.h>

// The size of a head includes these bytes for each field (RFC 9113 §6.5.2).
enum { FIELD_OVERHEAD = 32 };
// The most memory of a head that is kept for the next one.
enum { KEPT_BYTES = 4096, KEPT_FIELDS = 64 };

static int outcome(bool goes_on) { return goes_on ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE; }

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *context) {
  (void)session;
  clastro_http2 *http2 = context;
  http2->byte_count = http2->count = http2->head_bytes = 0;
  int32_t stream = frame->hd.stream_id;
  http2->head_stream = stream;
  http2->head_continues = !(frame->hd.flags & NGHTTP2_FLAG_END_HEADERS);
  http2->head_limit = http2->events.block_limit(http2->context, stream, clastro_http2_slot(http2, stream));
  return 0;
}

static bool reserve(clastro_http2 *http2, size_t length) {
  if (http2->byte_count + length > http2->byte_capacity) {
    size_t capacity = (http2->byte_count + length) * 2;
    if (capacity < 512) capacity = 512;
    uint8_t *bytes = realloc(http2->bytes, capacity);
    if (!bytes) return false;
    http2->bytes = bytes;
    http2->byte_capacity = capacity;
  }
  if (http2->count == http2->capacity) {
    size_t capacity = http2->capacity ? http2->capacity * 2 : 16;
    clastro_http2_field *fields = realloc(http2->fields, capacity * sizeof *fields);
    if (!fields) return false;
    http2->fields = fields;
    http2->capacity = capacity;
  }
  return true;
}

/// Counts a field towards the limit of a head. If the head then exceeds its limit, reports that and returns false.
static bool is_within_limit(clastro_http2 *http2, int32_t stream, size_t length) {
  http2->head_bytes += length + FIELD_OVERHEAD;
  if (http2->head_bytes <= http2->head_limit) return true;
  http2->events.block_too_large(http2->context, stream, clastro_http2_slot(http2, stream));
  return false;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
                     const uint8_t *value, size_t value_length, uint8_t flags, void *context) {
  (void)session, (void)flags;
  clastro_http2 *http2 = context;
  if (!is_within_limit(http2, frame->hd.stream_id, name_length + value_length)) {
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  if (!reserve(http2, name_length + value_length)) return NGHTTP2_ERR_CALLBACK_FAILURE;
  memcpy(http2->bytes + http2->byte_count, name, name_length);
  memcpy(http2->bytes + http2->byte_count + name_length, value, value_length);
  http2->byte_count += name_length + value_length;
  http2->fields[http2->count++] =
    (clastro_http2_field){.name_length = (uint32_t)name_length, .value_length = (uint32_t)value_length};
  return 0;
}

static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                             size_t name_length, const uint8_t *value, size_t value_length, uint8_t flags,
                             void *context) {
  (void)session, (void)flags;
  clastro_http2 *http2 = context;
  int32_t stream = frame->hd.stream_id;
  bool is_left_out = http2->events.field_invalid(
    http2->context, stream, clastro_http2_slot(http2, stream), name, name_length, value, value_length);
  // For this result nghttp2 resets the stream; for 0 it leaves the field out.
  if (!is_left_out) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  // A field that is left out counts towards the limit too.
  return is_within_limit(http2, stream, name_length + value_length) ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static void release_large_head(clastro_http2 *http2) {
  if (http2->byte_capacity > KEPT_BYTES) {
    free(http2->bytes);
    http2->bytes = NULL;
    http2->byte_capacity = 0;
  }
  if (http2->capacity > KEPT_FIELDS) {
    free(http2->fields);
    http2->fields = NULL;
    http2->capacity = 0;
  }
  http2->byte_count = http2->count = 0;
}

static bool tell_block(clastro_http2 *http2, const nghttp2_frame *frame) {
  http2->head_stream = 0;
  clastro_http2_block block = {
    .stream = frame->hd.stream_id,
    .slot = clastro_http2_slot(http2, frame->hd.stream_id),
    .ends = frame->hd.flags & NGHTTP2_FLAG_END_STREAM,
    .fields = http2->fields,
    .count = http2->count,
    .bytes = http2->bytes,
    .byte_count = http2->byte_count,
  };
  bool goes_on = http2->events.block(http2->context, &block);
  release_large_head(http2);
  return goes_on;
}

static int on_data_chunk(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count,
                         void *context) {
  (void)session, (void)flags;
  clastro_http2 *http2 = context;
  return outcome(http2->events.data(http2->context, stream, clastro_http2_slot(http2, stream), bytes, count));
}

static bool tell_frame(clastro_http2 *http2, const nghttp2_frame *frame) {
  int32_t stream = frame->hd.stream_id;
  switch (frame->hd.type) {
  case NGHTTP2_HEADERS: return tell_block(http2, frame);
  case NGHTTP2_DATA:
    return http2->events.data_end(
      http2->context, stream, clastro_http2_slot(http2, stream), frame->hd.length - frame->data.padlen,
      frame->hd.flags & NGHTTP2_FLAG_END_STREAM);
  case NGHTTP2_RST_STREAM:
    return http2->events.reset(
      http2->context, stream, clastro_http2_slot(http2, stream), frame->rst_stream.error_code);
  case NGHTTP2_SETTINGS: return frame->hd.flags & NGHTTP2_FLAG_ACK || http2->events.settings(http2->context);
  case NGHTTP2_PING: {
    if (!(frame->hd.flags & NGHTTP2_FLAG_ACK)) return true;
    uint64_t payload;
    memcpy(&payload, frame->ping.opaque_data, sizeof payload);
    return http2->events.pong(http2->context, payload);
  }
  case NGHTTP2_GOAWAY:
    return http2->events.going_away(
      http2->context, frame->goaway.last_stream_id, frame->goaway.error_code, frame->goaway.opaque_data,
      frame->goaway.opaque_data_len);
  default: return true;
  }
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *context) {
  (void)session;
  return outcome(tell_frame(context, frame));
}

static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error, void *context) {
  (void)session;
  clastro_http2 *http2 = context;
  int32_t stream = frame->hd.stream_id;
  // Later versions of nghttp2 call this for DATA too, for which the end of the body is sufficient.
  if (frame->hd.type == NGHTTP2_DATA) return 0;
  http2->events.refused(http2->context, stream, clastro_http2_slot(http2, stream), nghttp2_strerror(error));
  return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t code, void *context) {
  (void)session;
  clastro_http2 *http2 = context;
  http2->events.closed(http2->context, stream, clastro_http2_slot(http2, stream), code);
  return 0;
}

void clastro_http2_set_receiving(nghttp2_session_callbacks *callbacks) {
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
  nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
}

const char *clastro_http2_receive(clastro_http2 *http2, const uint8_t *bytes, size_t count) {
  ssize_t result = nghttp2_session_mem_recv(http2->session, bytes, count);
  return result < 0 ? nghttp2_strerror((int)result) : NULL;
}
