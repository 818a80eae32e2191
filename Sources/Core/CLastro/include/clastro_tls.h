// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// A set of trusted roots (X509_STORE), shared by all connections that use it. It is filled first. Afterwards any thread
// may read it and none changes it, except as described for `shows_roots_to_curl`.
typedef struct x509_store_st clastro_roots;
clastro_roots *_Nullable clastro_roots_new(void);
// Adds every certificate of a PEM text. Returns their number, or -1 if a block is broken or encrypted.
int clastro_roots_add(clastro_roots *roots, const char *pem, size_t length);
void clastro_roots_free(clastro_roots *roots);

// A TLS session (SSL).
typedef struct ssl_st clastro_tls;
// Returns the TLS session of a transfer, or NULL if there is none. With TLS to a proxy and TLS to the target, it is the
// session to the target. Call it in callbacks of the transfer, or after curl_easy_recv or curl_easy_send was called for
// it.
clastro_tls *_Nullable clastro_tls_of(CURL *easy);

// A certificate in DER, and the SHA-256 digest of its SubjectPublicKeyInfo.
typedef struct {
  const uint8_t *der;
  size_t length;
  uint8_t pin[32];
} clastro_peer_certificate;

// The record of one TLS connection. It is reference-counted and may outlive the SSL object.
typedef struct clastro_connection clastro_connection;

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
  // The trusted roots. They are used only while the connection is made.
  clastro_roots *roots;
  // Whether libcurl also gets the roots, for its check of stapled responses. libcurl sets flags in the store and keeps
  // it for later connections of its multi handle, even if the store has other users.
  bool shows_roots_to_curl;
  // The name or address that the certificate must match. It is checked together with the chain.
  const char *host;
  bool host_is_address;
  // Whether the checks of chain and host are skipped. `accept` then gets the certificates that were sent, and must not
  // be NULL.
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
  // Receives the verified chain (leaf to root), followed by the other certificates that were sent. Returns false to
  // reject them. NULL accepts every chain that OpenSSL accepts.
  bool (*_Nullable accept)(
    void *owner, const clastro_peer_certificate *certificates, size_t chain_count, size_t count);
  // Receives OpenSSL's verify result (X509_V_ERR_…) for a chain that it rejects, the certificate at fault (NULL if it
  // cannot be read), and that certificate's depth in the chain: 0 for the peer's own.
  void (*reject)(void *owner, int result, const clastro_peer_certificate *_Nullable certificate, int depth);
  // Receives fatal alerts of the peer (RFC 8446 §6.2), and whether the peer had asked for a client certificate and got
  // none. In TLS 1.3 a client certificate is rejected after the handshake, and libcurl then reports a failed read.
  void (*hear_alert)(void *owner, int alert, bool asked_in_vain);
  // Receives lines of the key log (SSLKEYLOGFILE format), without a newline. NULL if there is no log.
  void (*_Nullable log_key)(void *owner, const char *line);
  void (*release)(void *owner);
} clastro_connection_rules;

// Installs CURLOPT_SSL_CTX_FUNCTION. `prepare` is called once for each new TLS connection of the transfer, including a
// connection to an https proxy. It must call clastro_context_apply.
typedef CURLcode (*clastro_context_callback)(CURL *_Nullable easy, void *_Nullable context, void *_Nullable transfer);
CURLcode clastro_install_context_hook(CURL *easy, clastro_context_callback prepare, void *transfer);

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

// Returns the connection of `easy`, retained; NULL for plain text. Call it only in a callback of the transfer, because
// CURLINFO_TLS_SSL_PTR is NULL afterwards.
clastro_connection *_Nullable clastro_connection_retain(CURL *easy);
void clastro_connection_release(clastro_connection *connection);
// Returns whether the handshake of the connection of `easy` is complete. Call it only in a callback of the transfer.
// libcurl 7.88 may open another HTTP/2 stream on a connection behind a proxy whose handshake is not complete.
bool clastro_connection_is_ready(CURL *easy);
// Returns `rules.owner`. It is valid as long as the connection.
void *clastro_connection_owner(const clastro_connection *connection);
// Returns whether the peer ended the connection with close_notify (RFC 8446 §6.1); false after a bare TCP FIN.
bool clastro_connection_closed_cleanly(const clastro_connection *connection);
const char *clastro_alert_text(int alert);
// Returns a description of a verify result (X509_V_ERR_…).
const char *clastro_verify_text(long result);

// Returns whether OpenSSL knows a cipher, by its name in RFC 8446 §B.4 for TLS 1.3, or by its OpenSSL name for older
// versions.
bool clastro_knows_cipher(const char *name, bool is_tls13);

// Returns OpenSSL's run-time version text.
const char *clastro_openssl_version(void);

#pragma clang assume_nonnull end
