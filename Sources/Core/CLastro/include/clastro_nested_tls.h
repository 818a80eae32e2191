// SPDX-License-Identifier: Apache-2.0
// TLS whose bytes come and go through memory: over any byte stream. No I/O, no clock; every decision is taken in Swift.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// Settings of one connection (SSL_CTX), to be freed. `minimum_version`: 0 for TLS 1.0, to 3 for TLS 1.3.
void *_Nullable clastro_nested_context_new(int minimum_version);
void clastro_nested_context_free(void *context);
// OpenSSL's list of ciphers, colons between. NULL leaves OpenSSL's choice.
bool clastro_nested_context_set_ciphers(
  void *context, const char *_Nullable legacy, const char *_Nullable suites);
// The protocols to offer, each after a byte with its length (RFC 7301 §3.1).
bool clastro_nested_context_set_protocols(void *context, const uint8_t *protocols, size_t length);
// A certificate chain, leaf first, and its private key, both PEM. They must belong together.
bool clastro_nested_context_set_identity(
  void *context, const char *chain, size_t chain_length, const char *key, size_t key_length,
  const char *_Nullable password);

// One TLS connection. One thread at a time.
typedef struct clastro_session clastro_session;
// `name` is sent as SNI; NULL sends none.
clastro_session *_Nullable clastro_session_new(void *context, const char *_Nullable name);
void clastro_session_free(clastro_session *session);

typedef enum {
  CLASTRO_SESSION_DONE = 0,
  // Nothing more can be done before more bytes have come.
  CLASTRO_SESSION_NEEDS_INPUT,
  // The peer sent close_notify.
  CLASTRO_SESSION_CLOSED,
  // The input ended before close_notify.
  CLASTRO_SESSION_TRUNCATED,
  CLASTRO_SESSION_FAILED,
} clastro_session_result;

// Whatever is called, there may be output to send afterwards, also when it failed (an alert).
clastro_session_result clastro_session_handshake(clastro_session *session);
clastro_session_result clastro_session_read(clastro_session *session, uint8_t *buffer, size_t capacity, size_t *count);
// Takes all of the bytes, at least one.
clastro_session_result clastro_session_write(clastro_session *session, const uint8_t *bytes, size_t count);
clastro_session_result clastro_session_close_notify(clastro_session *session);

bool clastro_session_feed(clastro_session *session, const uint8_t *bytes, size_t count);
void clastro_session_end_input(clastro_session *session);
size_t clastro_session_output_count(clastro_session *session);
size_t clastro_session_take_output(clastro_session *session, uint8_t *buffer, size_t capacity);

// What OpenSSL called the last failure; NULL when it did not say. A constant text.
const char *_Nullable clastro_session_failure(const clastro_session *session);
// The fatal alert that the peer sent (RFC 8446 §6.2); 0 when it sent none.
int clastro_session_fatal_alert(const clastro_session *session);
// Whether the peer asked for a client certificate that there was not.
bool clastro_session_asked_in_vain(const clastro_session *session);

// After the handshake.
const char *clastro_session_version(const clastro_session *session);
const char *_Nullable clastro_session_cipher(const clastro_session *session);
bool clastro_session_is_resumed(const clastro_session *session);
size_t clastro_session_protocol(const clastro_session *session, const uint8_t *_Nullable *_Nonnull protocol);
// What the server presented, leaf first, one call for each; false once `visit` returned false or a certificate could
// not be read.
bool clastro_session_visit_presented(
  const clastro_session *session, void *owner, bool (*visit)(void *owner, const uint8_t *der, size_t length));

#pragma clang assume_nonnull end
