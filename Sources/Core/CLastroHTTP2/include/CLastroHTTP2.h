// SPDX-License-Identifier: Apache-2.0
#ifndef CLASTROHTTP2_H
#define CLASTROHTTP2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clastro_loop.h"

#pragma clang assume_nonnull begin

// A C shim for libnghttp2's client side. No policy is decided here: the functions of `clastro_http2_events` interpret
// frames and set limits. The shim collects the fields of a head, so that each head is reported once, and the output
// frames, so that they are written together.

typedef struct clastro_http2 clastro_http2;

/// A field, given by its lengths. The bytes of names and values are stored consecutively.
typedef struct {
  uint32_t name_length, value_length;
  /// Whether the field's value must not enter a table of either side (RFC 7541 §7.1.3). Only used for sent fields.
  bool is_sensitive;
} clastro_http2_field;

/// A head or trailers. It is valid only during the call that reports it.
typedef struct {
  int32_t stream;
  uintptr_t slot;
  /// Whether the stream ends after it.
  bool ends;
  const clastro_http2_field *_Nullable fields;
  size_t count;
  const uint8_t *_Nullable bytes;
  size_t byte_count;
} clastro_http2_block;

/// The next piece of a request's body.
typedef struct {
  size_t count;
  /// Whether there is nothing to send until `clastro_http2_resume` is called.
  bool is_dry;
  bool is_last;
  /// Whether trailers follow. The function has submitted them.
  bool has_trailers;
} clastro_http2_piece;

/// The slot of a stream is the value passed to `clastro_http2_request`. For a stream that is closed, it may be
/// `CLASTRO_HTTP2_NO_SLOT`.
#define CLASTRO_HTTP2_NO_SLOT UINTPTR_MAX

/// The callbacks. If one that returns bool returns false, reading stops for good; `field_invalid` is the exception.
typedef struct {
  // Input:

  /// A head or trailers begin. Returns their limit in bytes, with 32 bytes added for each field (RFC 9113 §6.5.2).
  size_t (*block_limit)(void *context, int32_t stream, uintptr_t slot);
  /// A head or trailers exceed the limit. The stream is reset with INTERNAL_ERROR, or with PROTOCOL_ERROR if the field
  /// that exceeds it is invalid.
  void (*block_too_large)(void *context, int32_t stream, uintptr_t slot);
  /// A field violates RFC 9113 §8.2.1. Returns true to leave it out; otherwise the stream is reset with PROTOCOL_ERROR.
  bool (*field_invalid)(void *context, int32_t stream, uintptr_t slot, const uint8_t *name, size_t length,
                        const uint8_t *value, size_t value_length);
  bool (*block)(void *context, const clastro_http2_block *block);
  bool (*data)(void *context, int32_t stream, uintptr_t slot, const uint8_t *bytes, size_t count);
  /// A DATA frame ended. `count` is its size in bytes without padding.
  bool (*data_end)(void *context, int32_t stream, uintptr_t slot, size_t count, bool ends);
  bool (*reset)(void *context, int32_t stream, uintptr_t slot, uint32_t code);
  bool (*settings)(void *context);
  bool (*pong)(void *context, uint64_t payload);
  bool (*going_away)(void *context, int32_t last_stream, uint32_t code, const uint8_t *_Nullable text, size_t length);
  /// nghttp2 rejected a frame other than DATA; `reason` is its text. The stream is reset or the connection ends.
  /// `stream` is 0 for a frame of the connection.
  void (*refused)(void *context, int32_t stream, uintptr_t slot, const char *reason);

  // Output:

  /// The head of a request, or its trailers, are part of the output.
  void (*sent_head)(void *context, int32_t stream, uintptr_t slot, bool ends);
  void (*sent_data)(void *context, int32_t stream, uintptr_t slot, size_t count, bool ends);
  /// A GOAWAY that ends the connection is part of the output.
  void (*sent_going_away)(void *context, uint32_t code, const uint8_t *_Nullable text, size_t length);
  /// A request's head or trailers are not sent; `reason` is nghttp2's text. It is not called for a head that is not
  /// sent because the server is going away: that stream is closed.
  void (*not_sent)(void *context, int32_t stream, uintptr_t slot, const char *reason);
  /// Returns the next piece of a body, of at most `room` bytes.
  clastro_http2_piece (*piece)(void *context, int32_t stream, uintptr_t slot, size_t room);
  /// Copies the bytes of the last `piece` to `to`.
  void (*take)(void *context, int32_t stream, uintptr_t slot, uint8_t *to, size_t count);

  // Input and output:

  /// The stream was closed.
  void (*closed)(void *context, int32_t stream, uintptr_t slot, uint32_t code);
} clastro_http2_events;

/// The settings sent to the server at the beginning, and limits that nghttp2 enforces.
typedef struct {
  uint32_t stream_window, connection_window;
  uint32_t maximum_head_bytes;
  uint32_t maximum_streams_before_settings;
  /// The maximum size of a request's head or trailers, with 12 bytes added for each field and 17 bytes for the whole.
  size_t maximum_sent_head_bytes;
} clastro_http2_settings;

/// Makes a session. Returns NULL if there is no memory.
clastro_http2 *_Nullable clastro_http2_new(
  const clastro_http2_settings *settings, const clastro_http2_events *events);
/// Sets the first argument of each function of `events`, before any of them can be called: before the session first
/// receives or sends. It must be valid until the session is freed.
void clastro_http2_set_context(clastro_http2 *session, void *context);
void clastro_http2_free(clastro_http2 *_Nullable session);

/// Processes received bytes. Returns NULL, or nghttp2's text for the reason if the session cannot continue. Do not call
/// it in a function of the events.
const char *_Nullable clastro_http2_receive(clastro_http2 *session, const uint8_t *bytes, size_t count);

/// The maximum number of plaintext bytes in a TLS record (RFC 8446 §5.1).
enum { CLASTRO_HTTP2_RECORD_BYTES = 16384 };

/// Copies output until none is left or the room is full. Every frame but the last is whole. With `ends_with_frame` the
/// last frame is whole too, and no frame is larger than a TLS record, if `room` is not larger than a record either.
/// Nothing may then be copied although output is left, if `room` is smaller than a record. Pass the same value in all
/// calls for a session. Returns the number of bytes, or -1 if the session cannot continue. Do not call it in a function
/// of the events.
ptrdiff_t clastro_http2_send(clastro_http2 *session, uint8_t *to, size_t room, bool ends_with_frame);

/// Returns the slot of a stream.
uintptr_t clastro_http2_slot(clastro_http2 *session, int32_t stream);

/// Returns whether the connection can be closed, because no input is expected and no output is left.
bool clastro_http2_is_over(clastro_http2 *session);
/// Returns whether there is output to send.
bool clastro_http2_has_output(clastro_http2 *session);

/// Returns the stream whose head or trailers were received in part; 0 for none.
int32_t clastro_http2_head_stream(clastro_http2 *session);
/// Returns whether CONTINUATION frames belong to that head.
bool clastro_http2_head_continues(clastro_http2 *session);

/// Returns the number of concurrent streams that the server allows.
uint32_t clastro_http2_allowed_streams(clastro_http2 *session);

/// Submits a request. Returns its stream, or a negative number if there is no memory or no stream left.
int32_t clastro_http2_request(
  clastro_http2 *session, uintptr_t slot, const uint8_t *bytes, const clastro_http2_field *fields, size_t count,
  bool has_body);
/// Submits trailers. Call it only in the `piece` function.
bool clastro_http2_trailers(
  clastro_http2 *session, int32_t stream, const uint8_t *_Nullable bytes, const clastro_http2_field *_Nullable fields,
  size_t count);
/// Resumes a body that was dry: there are more bytes, or its end.
void clastro_http2_resume(clastro_http2 *session, int32_t stream);
void clastro_http2_reset(clastro_http2 *session, int32_t stream, uint32_t code);
/// Returns flow-control credit to the connection.
void clastro_http2_consume_connection(clastro_http2 *session, size_t count);
/// Returns flow-control credit to a stream.
void clastro_http2_consume_stream(clastro_http2 *session, int32_t stream, size_t count);
/// Sends the server the flow-control window for each stream.
void clastro_http2_set_stream_window(clastro_http2 *session, uint32_t bytes);
void clastro_http2_ping(clastro_http2 *session, uint64_t payload);
/// Sends GOAWAY and ends the connection.
void clastro_http2_terminate(clastro_http2 *session, uint32_t code);

#pragma clang assume_nonnull end

#endif
