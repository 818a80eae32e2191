// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// A set of trusted roots (X509_STORE), shared by all connections that use it. Filled first, then only read, by any
// thread; but see `shows_roots_to_curl`.
typedef struct clastro_roots clastro_roots;
clastro_roots *_Nullable clastro_roots_new(void);
// Adds every certificate of a PEM text. Their number; -1 when a block is broken.
int clastro_roots_add(clastro_roots *roots, const char *pem, size_t length);
void clastro_roots_free(clastro_roots *roots);

// A certificate as it was presented: DER, and SHA-256 of its SubjectPublicKeyInfo.
typedef struct {
  const uint8_t *der;
  size_t length;
  uint8_t pin[32];
} clastro_peer_certificate;

// What is remembered of one TLS connection, reference-counted: it outlives the SSL object.
typedef struct clastro_connection clastro_connection;

// A turn of the loop: its number, and what a connection may read in it. Each call counts as CLASTRO_READ_BYTES more,
// for what a small record costs.
typedef struct {
  uint64_t number;
  size_t bytes;
} clastro_turn;

#define CLASTRO_TURN_BYTES (128 << 10)
#define CLASTRO_READ_BYTES 256

// What a new connection obeys.
typedef struct {
  // Used while the connection is made.
  const clastro_roots *roots;
  // Whether libcurl, too, gets the roots, for its check of stapled responses. It sets flags in them, keeps them for
  // later connections of its multi handle, and would do so with any store that is not ours alone.
  bool shows_roots_to_curl;
  // The name or address that the certificate must be for; checked together with the chain.
  const char *host;
  bool host_is_address;
  // Whether neither chain nor host are checked, and `accept`, which must not be NULL then, is given what was presented.
  bool judges_presented;
  // X509_V_FLAG_X509_STRICT.
  bool is_strict;
  // Whether a session may be kept for resumption.
  bool allows_resumption;
  // Where it reads the socket itself, and not through another TLS connection: the loop's turn, which outlives the
  // connection. When it has read the turn's bytes, it is told that there is nothing more; else a server that sends
  // faster than libcurl parses would hold the loop as long as it likes.
  const clastro_turn *_Nullable turn;
  // Handed to the functions below, and released with the connection.
  void *owner;
  // Is given the verified chain (leaf to root), and after it the other certificates that were sent. False refuses.
  // NULL accepts every chain that OpenSSL accepts.
  bool (*_Nullable accept)(
    void *owner, const clastro_peer_certificate *certificates, size_t chain_count, size_t count);
  // Is told OpenSSL's verify result (X509_V_ERR_…) of a chain that it refuses, the certificate at fault (NULL where it
  // cannot be read), and how many of the chain stand before it: 0 for the peer's own.
  void (*reject)(void *owner, int result, const clastro_peer_certificate *_Nullable certificate, int depth);
  // Is told of fatal alerts of the peer (RFC 8446 §6.2), and whether it had asked for a client certificate in vain.
  // In TLS 1.3 the refusal of a client certificate comes after the handshake, where libcurl reports a failed read.
  void (*hear_alert)(void *owner, int alert, bool asked_in_vain);
  // Is given lines of the key log (SSLKEYLOGFILE format), without a newline. NULL: there is no log.
  void (*_Nullable log_key)(void *owner, const char *line);
  void (*release)(void *owner);
} clastro_connection_rules;

// Installs CURLOPT_SSL_CTX_FUNCTION: `prepare` runs once for each new TLS connection of the transfer, also for that to
// an https proxy, and calls clastro_context_apply.
typedef CURLcode (*clastro_context_callback)(CURL *_Nullable easy, void *_Nullable context, void *_Nullable transfer);
CURLcode clastro_install_context_hook(CURL *easy, clastro_context_callback prepare, void *transfer);

// Marks the TLS connections to the transfer's https proxy, by an option of libcurl that OpenSSL's context shows:
// libcurl does not tell the hook which connection it is called for.
void clastro_mark_proxy_contexts(CURL *easy);
// Whether the context is marked. Takes the mark away.
bool clastro_context_takes_proxy_mark(void *context);
// Whether the mark means anything: OpenSSL's own configuration file can set the option on every context.
bool clastro_proxy_mark_is_telling(void);

// Has a context obey `rules`; takes over `rules->owner`, also when it fails. Always refuses renegotiation, watches
// alerts, and replaces libcurl's own key log (the environment's SSLKEYLOGFILE).
bool clastro_context_apply(void *context, const clastro_connection_rules *rules);

// The connection that serves `easy`, retained; NULL for plain text. Only inside a callback of the transfer
// (CURLINFO_TLS_SSL_PTR is NULL afterwards).
clastro_connection *_Nullable clastro_connection_retain(CURL *easy);
void clastro_connection_release(clastro_connection *connection);
// Whether the handshake of the connection that serves `easy` is over. Only inside a callback of the transfer. libcurl
// 7.88 may put a further HTTP/2 stream on a connection that still is in its handshake behind a proxy.
bool clastro_connection_is_ready(CURL *easy);
// `rules.owner`. Lives as long as the connection.
void *clastro_connection_owner(const clastro_connection *connection);
// Whether the peer ended the connection with close_notify (RFC 8446 §6.1); a bare TCP FIN leaves it false.
bool clastro_connection_closed_cleanly(const clastro_connection *connection);
const char *clastro_alert_text(int alert);
// What a verify result (X509_V_ERR_…) means.
const char *clastro_verify_text(long result);

// Whether OpenSSL knows a cipher: of TLS 1.3 (RFC 8446 §B.4 names), or of older versions (OpenSSL's list syntax).
bool clastro_knows_cipher(const char *name, bool is_tls13);

// OpenSSL's run-time version text.
const char *clastro_openssl_version(void);

#pragma clang assume_nonnull end
