// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "required_headers.h"

#include <nghttp2/nghttp2.h>

#include "CLastroHTTP2.h"

struct clastro_http2 {
  nghttp2_session *session;
  clastro_http2_events events;
  void *context;

  // The head that is being received.
  uint8_t *bytes;
  size_t byte_count, byte_capacity;
  clastro_http2_field *fields;
  size_t count, capacity;
  size_t head_bytes, head_limit;
  // The stream of that head; 0 for none.
  int32_t head_stream;
  bool head_continues;

  // The stream and slot of the last look-up, because several events of one stream follow each other.
  int32_t latest_stream;
  uintptr_t latest_slot;

  // The buffer for output.
  uint8_t *output;
  size_t written, room;
  // Whether the output must end with a whole frame.
  bool ends_with_frame;
  // A frame, or the rest of a frame, that did not fit into the buffer.
  const uint8_t *held;
  size_t held_count;
  bool has_begun_held;
  // The frames of a head that was split again, and the offset of the next frame.
  uint8_t *recut;
  size_t recut_count, recut_next;
};

/// Sets the callbacks for received frames.
void clastro_http2_set_receiving(nghttp2_session_callbacks *callbacks);
/// Sets the callbacks for sent frames.
void clastro_http2_set_sending(nghttp2_session_callbacks *callbacks);
