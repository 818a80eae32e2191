// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#pragma clang assume_nonnull begin

// Adds every certificate of a PEM text to a set of trusted roots. Returns their number, or -1 if a block is broken or
// encrypted.
int clastro_roots_add(X509_STORE *roots, const uint8_t *pem, size_t length);

// Returns the TLS session of a transfer, or NULL if there is none. With TLS to a proxy and TLS to the target, it is the
// session to the target. Call it in callbacks of the transfer, or after curl_easy_recv or curl_easy_send was called for
// it.
SSL *_Nullable clastro_tls_of(CURL *easy);

// A turn of the loop: its number, and the bytes that a connection may read in it. Each read call counts as
// CLASTRO_READ_BYTES additional bytes, for the cost of small records.
typedef struct {
  uint64_t number;
  size_t bytes;
} clastro_turn;

#define CLASTRO_TURN_BYTES (128 << 10)
#define CLASTRO_READ_BYTES 256

// The rules for a new connection.
typedef struct {
  // The trusted roots, which other connections share. They are used only while the connection is made.
  X509_STORE *roots;
  // Whether libcurl also gets the roots, for its check of stapled responses. libcurl sets flags in the store and keeps
  // it for later connections of its multi handle, even if the store has other users.
  bool shows_roots_to_curl;
  // The name or address that the certificate must match. It is checked together with the chain, unless `skips_host` is
  // set. `accept` must not be NULL then.
  const char *host;
  bool host_is_address;
  bool skips_host;
  // Whether the checks of chain and host are skipped. `accept` must not be NULL then.
  bool judges_presented;
  // Whether X509_V_FLAG_X509_STRICT is set.
  bool is_strict;
  // Whether a session may be kept for resumption.
  bool allows_resumption;
  // The loop's turn, for a connection that reads the socket itself and not through another TLS connection; else NULL.
  // It outlives the connection. When the connection has read the turn's bytes, further reads behave as if the socket
  // were empty. Otherwise a server that sends faster than libcurl parses could hold the loop indefinitely.
  const clastro_turn *_Nullable turn;
  // The first argument of the functions below. `release` is called with it when the connection is freed.
  void *owner;
  // Receives the verification, which has the verified chain (leaf to root) unless the checks are skipped, and the
  // certificates that were sent. Returns false to reject them. NULL accepts every chain that OpenSSL accepts.
  bool (*_Nullable accept)(void *owner, X509_STORE_CTX *verification);
  // Receives OpenSSL's verify result (X509_V_ERR_…) for a chain that it rejects, the certificate at fault (NULL if
  // there is none), and that certificate's depth in the chain: 0 for the peer's own.
  void (*reject)(void *owner, int result, X509 *_Nullable certificate, int depth);
  // Receives close_notify (RFC 8446 §6.1) and fatal alerts of the peer (§6.2), and whether the peer had asked for a
  // client certificate and got none. In TLS 1.3 a client certificate is rejected after the handshake, and libcurl then
  // reports a failed read.
  void (*hear_alert)(void *owner, int alert, bool asked_in_vain);
  // Receives lines of the key log (SSLKEYLOGFILE format), without a newline. NULL if there is no log.
  void (*_Nullable log_key)(void *owner, const char *line);
  void (*release)(void *owner);
} clastro_connection_rules;

// Installs CURLOPT_SSL_CTX_FUNCTION. `prepare` is called once for each new TLS connection of the transfer, including a
// connection to an https proxy. It must call clastro_context_apply.
CURLcode clastro_install_context_hook(CURL *easy, curl_ssl_ctx_callback prepare, void *transfer);

// Marks the TLS connections to the transfer's https proxy with a libcurl option that is visible in OpenSSL's context.
// The mark is needed because libcurl does not say for which connection it calls the hook.
void clastro_mark_proxy_contexts(CURL *easy);
// Returns whether the context is marked, and removes the mark.
bool clastro_context_takes_proxy_mark(void *context);
// Returns whether the mark is meaningful. OpenSSL's configuration file can set the option on every context.
bool clastro_proxy_mark_is_telling(void);

// Applies `rules` to a context. It takes over `rules->owner`, also on failure. It always rejects renegotiation, watches
// alerts, and replaces libcurl's own key log (the environment variable SSLKEYLOGFILE).
bool clastro_context_apply(void *context, const clastro_connection_rules *rules);

// Returns the `owner` of the rules of the TLS connection of `easy`; NULL for plain text. It is valid as long as the
// connection. Call it only in a callback of the transfer, because CURLINFO_TLS_SSL_PTR is NULL afterwards.
void *_Nullable clastro_owner_of(CURL *easy);

// Returns whether OpenSSL knows a cipher, by its name in RFC 8446 §B.4 for TLS 1.3, or by its OpenSSL name for older
// versions.
bool clastro_knows_cipher(const char *name, bool is_tls13);

// Prepares a context for a stream of bytes: a repeated write may use another buffer, and the protocols of `alpn` are
// offered (wire form of RFC 7301 §3.1; none if it is empty). Returns false if the protocols cannot be set.
bool clastro_context_carry_stream(void *context, const uint8_t *_Nullable alpn, size_t length);

// Ends our direction of TLS. Writes the bytes that must be sent on the socket (close_notify, RFC 8446 §6.1) to `bytes`
// and returns their number, or -1. No write may be incomplete when it is called. `proxy_context` is the context of the
// connection to an https proxy if TLS goes through one, else NULL.
ssize_t clastro_make_close_notify(CURL *easy, void *_Nullable proxy_context, uint8_t *bytes, size_t capacity);

// Sets the client's certificate chain, leaf first, and its private key, both as PEM. Returns false if they do not match
// or cannot be read.
bool clastro_context_set_identity(
  SSL_CTX *context, const uint8_t *chain, size_t chain_length, const uint8_t *key, size_t key_length,
  const char *_Nullable password);

// Makes a session that reads from and writes to memory. Returns NULL if memory cannot be allocated.
SSL *_Nullable clastro_tls_in_memory(SSL_CTX *context);

#pragma clang assume_nonnull end
