// SPDX-License-Identifier: Apache-2.0
// TLS over any byte stream: its input and output pass through memory. No I/O and no clock; every decision is made in
// Swift.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clastro_tls.h"

#pragma clang assume_nonnull begin

// Makes the settings of one connection (SSL_CTX). Free them with clastro_nested_context_free. The versions are 0 for
// TLS 1.0 to 3 for TLS 1.3; a `maximum_version` of -1 means the newest.
void *_Nullable clastro_nested_context_new(int minimum_version, int maximum_version);
void clastro_nested_context_free(void *context);
// Sets the ciphers for TLS 1.2 and older (`legacy`) and for TLS 1.3 (`suites`), as OpenSSL's colon-separated lists.
// NULL keeps OpenSSL's default.
bool clastro_nested_context_set_ciphers(
  void *context, const char *_Nullable legacy, const char *_Nullable suites);
// Sets the client's certificate chain, leaf first, and its private key, both as PEM. Returns false if they do not match
// or cannot be read.
bool clastro_nested_context_set_identity(
  void *context, const char *chain, size_t chain_length, const char *key, size_t key_length,
  const char *_Nullable password);

// A TLS connection. Use it from one thread at a time.
typedef struct clastro_session clastro_session;
// Makes a connection. `name` is sent as SNI; NULL sends none.
clastro_session *_Nullable clastro_session_new(void *context, const char *_Nullable name);
void clastro_session_free(clastro_session *session);

typedef enum {
  CLASTRO_SESSION_DONE = 0,
  // More input is needed to continue.
  CLASTRO_SESSION_NEEDS_INPUT,
  // The peer sent close_notify.
  CLASTRO_SESSION_CLOSED,
  // The input ended before close_notify.
  CLASTRO_SESSION_TRUNCATED,
  CLASTRO_SESSION_FAILED,
} clastro_session_result;

// After each call there may be output to send, even after a failure (an alert).
clastro_session_result clastro_session_handshake(clastro_session *session);
clastro_session_result clastro_session_read(clastro_session *session, uint8_t *buffer, size_t capacity, size_t *count);
// Encrypts all of the bytes. `count` must be at least 1.
clastro_session_result clastro_session_write(clastro_session *session, const uint8_t *bytes, size_t count);
clastro_session_result clastro_session_close_notify(clastro_session *session);

bool clastro_session_feed(clastro_session *session, const uint8_t *bytes, size_t count);
void clastro_session_end_input(clastro_session *session);
size_t clastro_session_output_count(clastro_session *session);
size_t clastro_session_take_output(clastro_session *session, uint8_t *buffer, size_t capacity);

// Returns OpenSSL's text for the last failure; NULL if there is none. The text is a constant.
const char *_Nullable clastro_session_failure(const clastro_session *session);

// Returns whether the handshake resumed an earlier session.
bool clastro_session_is_resumed(const clastro_session *session);
// Returns the TLS session, from which the results of the handshake are read. It is valid as long as the connection.
clastro_tls *clastro_session_tls(const clastro_session *session);

#pragma clang assume_nonnull end
