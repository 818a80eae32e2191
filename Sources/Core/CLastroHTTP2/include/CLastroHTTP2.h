// SPDX-License-Identifier: Apache-2.0
#ifndef CLASTROHTTP2_H
#define CLASTROHTTP2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clastro_loop.h"

#pragma clang assume_nonnull begin

// A door to libnghttp2's client side. It holds no policy: what a frame means, and what is too much, is decided by the
// functions of `clastro_http2_events`. It collects the fields of a head, so that each head is told once, and the
// frames that go out, so that they are written together.

typedef struct clastro_http2 clastro_http2;

/// A field, by its lengths: names and values lie one behind the other.
typedef struct {
  uint32_t name_length, value_length;
  /// Whether the field's value may not enter a table of either side (RFC 7541 §7.1.3). Only of what goes out.
  bool is_sensitive;
} clastro_http2_field;

/// A head, or trailers. It is valid within the call that tells of it.
typedef struct {
  int32_t stream;
  uintptr_t slot;
  /// Whether nothing follows on the stream.
  bool ends;
  const clastro_http2_field *_Nullable fields;
  size_t count;
  const uint8_t *_Nullable bytes;
  size_t byte_count;
} clastro_http2_block;

/// What of a body goes out.
typedef struct {
  size_t count;
  /// Whether nothing is to be sent before `clastro_http2_resume`.
  bool is_dry;
  bool is_last;
  /// Whether trailers follow, which the function has submitted.
  bool has_trailers;
} clastro_http2_piece;

/// A stream's slot is what `clastro_http2_request` was given for it. Of a stream that is gone it may be
/// `CLASTRO_HTTP2_NO_SLOT`.
#define CLASTRO_HTTP2_NO_SLOT UINTPTR_MAX

/// What happens. A function that returns false stops the reading for good.
typedef struct {
  // Coming in:

  /// A head or trailers begin. Returns the bytes they may have, each field counted with 32 more (RFC 9113 §6.5.2).
  size_t (*block_limit)(void *context, int32_t stream, uintptr_t slot);
  /// They have more. The stream is reset with INTERNAL_ERROR.
  void (*block_too_large)(void *context, int32_t stream, uintptr_t slot);
  /// A field breaks RFC 9113 §8.2.1. True leaves it out; else the stream is reset with PROTOCOL_ERROR.
  bool (*field_invalid)(void *context, int32_t stream, uintptr_t slot, const uint8_t *name, size_t length,
                        const uint8_t *value, size_t value_length);
  bool (*block)(void *context, const clastro_http2_block *block);
  bool (*data)(void *context, int32_t stream, uintptr_t slot, const uint8_t *bytes, size_t count);
  /// The end of a DATA frame that had so many bytes without its padding.
  bool (*data_end)(void *context, int32_t stream, uintptr_t slot, size_t count, bool ends);
  bool (*reset)(void *context, int32_t stream, uintptr_t slot, uint32_t code);
  bool (*settings)(void *context);
  bool (*pong)(void *context, uint64_t payload);
  bool (*going_away)(void *context, int32_t last_stream, uint32_t code, const uint8_t *_Nullable text, size_t length);
  /// A frame of a stream that is no DATA is refused, in nghttp2's words. The stream is reset, or the connection ends.
  void (*refused)(void *context, int32_t stream, uintptr_t slot, const char *reason);

  // Going out:

  /// The request's head is among what goes out.
  void (*sent_head)(void *context, int32_t stream, uintptr_t slot, bool ends);
  void (*sent_data)(void *context, int32_t stream, uintptr_t slot, size_t count, bool ends);
  /// A GOAWAY that ends the connection is among what goes out.
  void (*sent_going_away)(void *context, uint32_t code, const uint8_t *_Nullable text, size_t length);
  /// A request's head, or its trailers, are not sent, for a reason in nghttp2's words. A head of a server that went
  /// away is not among them: its stream is closed.
  void (*not_sent)(void *context, int32_t stream, uintptr_t slot, const char *reason);
  /// At most `room` bytes may follow.
  clastro_http2_piece (*piece)(void *context, int32_t stream, uintptr_t slot, size_t room);
  /// Takes the bytes that `piece` told of.
  void (*take)(void *context, int32_t stream, uintptr_t slot, uint8_t *to, size_t count);

  // Both:

  /// The stream is gone.
  void (*closed)(void *context, int32_t stream, uintptr_t slot, uint32_t code);
} clastro_http2_events;

/// What is told to the server first, and what nghttp2 itself holds to.
typedef struct {
  uint32_t stream_window, connection_window;
  uint32_t maximum_head_bytes;
  uint32_t maximum_streams_before_settings;
  /// What a request's head, or its trailers, may have, each field counted with 12 bytes more, and all with 17.
  size_t maximum_sent_head_bytes;
  /// nghttp2 counts a CONTINUATION frame again each time that the nine bytes of its head come in parts.
  uint32_t maximum_continuations;
} clastro_http2_settings;

/// NULL without memory. The context, which each function of `events` is given, has to stay valid until the session is
/// freed.
clastro_http2 *_Nullable clastro_http2_new(
  const clastro_http2_settings *settings, const clastro_http2_events *events, void *context);
void clastro_http2_free(clastro_http2 *_Nullable session);

/// Reads. NULL, or why the session cannot go on, in nghttp2's words. Not within a function of the events.
const char *_Nullable clastro_http2_receive(clastro_http2 *session, const uint8_t *bytes, size_t count);

/// The most plaintext in a TLS record (RFC 8446 §5.1).
enum { CLASTRO_HTTP2_RECORD_BYTES = 16384 };

/// Copies what is to be sent, in whole frames but for the last, until nothing is left or the room is full. With
/// `ends_with_frame` the last one is whole too, and none is larger than a TLS record: nothing may be copied although
/// something is left, where the room is smaller than a record. The same session has to be asked for the same.
/// Returns the count, or -1 where the session cannot go on. Not within a function of the events.
ptrdiff_t clastro_http2_send(clastro_http2 *session, uint8_t *to, size_t room, bool ends_with_frame);

/// The slot of a stream.
uintptr_t clastro_http2_slot(clastro_http2 *session, int32_t stream);

/// Whether nothing more is to be read nor written, so that the connection may be closed.
bool clastro_http2_is_over(clastro_http2 *session);
/// Whether there is something to be sent.
bool clastro_http2_has_output(clastro_http2 *session);

/// The stream of which a head, or trailers, came in part; 0 for none.
int32_t clastro_http2_head_stream(clastro_http2 *session);
/// Whether CONTINUATION frames belong to it.
bool clastro_http2_head_continues(clastro_http2 *session);

/// Streams that the server allows at a time.
uint32_t clastro_http2_allowed_streams(clastro_http2 *session);

/// The stream of a new request, or a negative number without memory or streams.
int32_t clastro_http2_request(
  clastro_http2 *session, uintptr_t slot, const uint8_t *bytes, const clastro_http2_field *fields, size_t count,
  bool has_body);
/// Within `piece` only.
bool clastro_http2_trailers(
  clastro_http2 *session, int32_t stream, const uint8_t *_Nullable bytes, const clastro_http2_field *_Nullable fields,
  size_t count);
/// A stream whose body was dry has more, or its end.
void clastro_http2_resume(clastro_http2 *session, int32_t stream);
void clastro_http2_reset(clastro_http2 *session, int32_t stream, uint32_t code);
/// Gives credit back to the connection.
void clastro_http2_consume_connection(clastro_http2 *session, size_t count);
/// Gives credit back to a stream.
void clastro_http2_consume_stream(clastro_http2 *session, int32_t stream, size_t count);
/// Tells the server how much it may send on each stream.
void clastro_http2_set_stream_window(clastro_http2 *session, uint32_t bytes);
void clastro_http2_ping(clastro_http2 *session, uint64_t payload);
/// Sends GOAWAY, and ends the connection with it.
void clastro_http2_terminate(clastro_http2 *session, uint32_t code);

#pragma clang assume_nonnull end

#endif
