// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <stdlib.h>
#include <string.h>

// Available since nghttp2 1.61, and in Debian's 1.52. A library without it has no limit.
extern void nghttp2_option_set_max_continuations(nghttp2_option *option, size_t count) __attribute__((weak));
// Available in newer versions. It counts frames of closed streams, which RFC 9113 requires us to ignore. Our own flood
// guard limits their bytes.
extern void nghttp2_option_set_glitch_rate_limit(nghttp2_option *option, uint64_t burst, uint64_t rate)
  __attribute__((weak));

// Available since nghttp2 1.50. A library without it accepts blanks at the ends of values anyway.
extern void nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(nghttp2_option *option, int value)
  __attribute__((weak));

// SETTINGS_NO_RFC7540_PRIORITIES (RFC 9218 §2.1).
enum { NO_RFC7540_PRIORITIES = 9 };
enum { HEADER_TABLE_BYTES = 4096, MAXIMUM_SETTINGS = 32, MAXIMUM_ACKNOWLEDGEMENTS = 1000 };

static nghttp2_option *make_option(const clastro_http2_settings *settings) {
  nghttp2_option *option;
  if (nghttp2_option_new(&option)) return NULL;
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_peer_max_concurrent_streams(option, settings->maximum_streams_before_settings);
  nghttp2_option_set_max_deflate_dynamic_table_size(option, HEADER_TABLE_BYTES);
  nghttp2_option_set_max_settings(option, MAXIMUM_SETTINGS);
  nghttp2_option_set_max_outbound_ack(option, MAXIMUM_ACKNOWLEDGEMENTS);
  nghttp2_option_set_no_closed_streams(option, 1);
  // The default is 64 KiB.
  nghttp2_option_set_max_send_header_block_length(option, settings->maximum_sent_head_bytes);
  // We remove those blanks ourselves, as over HTTP/1.1.
  if (nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation) {
    nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(option, 1);
  }
  // Our flood guard limits CONTINUATION frames by size before nghttp2 sees them. nghttp2 would count a frame again each
  // time the nine bytes of its header arrive in parts.
  if (nghttp2_option_set_max_continuations) nghttp2_option_set_max_continuations(option, UINT32_MAX);
  if (nghttp2_option_set_glitch_rate_limit) nghttp2_option_set_glitch_rate_limit(option, UINT32_MAX, UINT32_MAX);
  return option;
}

static bool begin(clastro_http2 *http2, const clastro_http2_settings *settings) {
  const nghttp2_settings_entry entries[] = {
    {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
    {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings->stream_window},
    {NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, HEADER_TABLE_BYTES},
    {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, settings->maximum_head_bytes},
    {NO_RFC7540_PRIORITIES, 1},
  };
  return nghttp2_submit_settings(http2->session, NGHTTP2_FLAG_NONE, entries, sizeof entries / sizeof *entries) == 0 &&
         nghttp2_session_set_local_window_size(
           http2->session, NGHTTP2_FLAG_NONE, 0, (int32_t)settings->connection_window) == 0;
}

clastro_http2 *clastro_http2_new(const clastro_http2_settings *settings, const clastro_http2_events *events) {
  clastro_http2 *http2 = calloc(1, sizeof *http2);
  if (!http2) return NULL;
  http2->events = *events;
  nghttp2_session_callbacks *callbacks = NULL;
  nghttp2_option *option = make_option(settings);
  bool is_made = option && nghttp2_session_callbacks_new(&callbacks) == 0;
  if (is_made) {
    clastro_http2_set_receiving(callbacks);
    clastro_http2_set_sending(callbacks);
    is_made = nghttp2_session_client_new2(&http2->session, callbacks, http2, option) == 0 && begin(http2, settings);
  }
  if (callbacks) nghttp2_session_callbacks_del(callbacks);
  if (option) nghttp2_option_del(option);
  if (is_made) return http2;
  clastro_http2_free(http2);
  return NULL;
}

void clastro_http2_set_context(clastro_http2 *http2, void *context) { http2->context = context; }

void clastro_http2_free(clastro_http2 *http2) {
  if (!http2) return;
  if (http2->session) nghttp2_session_del(http2->session);
  free(http2->bytes);
  free(http2->fields);
  free(http2->recut);
  free(http2);
}

uintptr_t clastro_http2_slot(clastro_http2 *http2, int32_t stream) {
  if (stream == 0) return CLASTRO_HTTP2_NO_SLOT;
  if (stream == http2->latest_stream) return http2->latest_slot;
  void *data = nghttp2_session_get_stream_user_data(http2->session, stream);
  if (!data) return CLASTRO_HTTP2_NO_SLOT;
  http2->latest_stream = stream;
  // The user data of a stream is its slot plus one, so that slot 0 differs from NULL.
  return http2->latest_slot = (uintptr_t)data - 1;
}

/// Returns whether frames from nghttp2 were not written to the output yet.
static bool has_frames(const clastro_http2 *http2) {
  return http2->held_count > 0 || http2->recut_next < http2->recut_count;
}

bool clastro_http2_is_over(clastro_http2 *http2) {
  return !has_frames(http2) && !nghttp2_session_want_read(http2->session) &&
         !nghttp2_session_want_write(http2->session);
}

bool clastro_http2_has_output(clastro_http2 *http2) {
  return has_frames(http2) || nghttp2_session_want_write(http2->session);
}

uint32_t clastro_http2_allowed_streams(clastro_http2 *http2) {
  return nghttp2_session_get_remote_settings(http2->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

int32_t clastro_http2_head_stream(clastro_http2 *http2) { return http2->head_stream; }

bool clastro_http2_head_continues(clastro_http2 *http2) { return http2->head_stream != 0 && http2->head_continues; }

void clastro_http2_resume(clastro_http2 *http2, int32_t stream) {
  nghttp2_session_resume_data(http2->session, stream);
}

void clastro_http2_reset(clastro_http2 *http2, int32_t stream, uint32_t code) {
  nghttp2_submit_rst_stream(http2->session, NGHTTP2_FLAG_NONE, stream, code);
}

void clastro_http2_consume_connection(clastro_http2 *http2, size_t count) {
  nghttp2_session_consume_connection(http2->session, count);
}

void clastro_http2_consume_stream(clastro_http2 *http2, int32_t stream, size_t count) {
  nghttp2_session_consume_stream(http2->session, stream, count);
}

void clastro_http2_set_stream_window(clastro_http2 *http2, uint32_t bytes) {
  const nghttp2_settings_entry entry = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, bytes};
  nghttp2_submit_settings(http2->session, NGHTTP2_FLAG_NONE, &entry, 1);
}

void clastro_http2_ping(clastro_http2 *http2, uint64_t payload) {
  uint8_t bytes[sizeof payload];
  memcpy(bytes, &payload, sizeof payload);
  nghttp2_submit_ping(http2->session, NGHTTP2_FLAG_NONE, bytes);
}

void clastro_http2_terminate(clastro_http2 *http2, uint32_t code) {
  nghttp2_session_terminate_session(http2->session, code);
}
