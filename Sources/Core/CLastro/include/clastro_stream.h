// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "clastro_curl.h"
#include "clastro_tls.h"

#pragma clang assume_nonnull begin

// Installs the callbacks of a handle that only connects (CURLOPT_CONNECT_ONLY); `owner` is its private
// pointer.
void clastro_install_dial_callbacks(
  CURL *easy, void *owner, clastro_data_callback discard, clastro_prereq_callback prereq);

// Prepares a context for a stream of bytes: a repeated write may use another buffer, and the protocols of `alpn` are
// offered (wire form of RFC 7301 §3.1; none if it is empty). Returns false if the protocols cannot be set.
bool clastro_context_carry_stream(void *context, const uint8_t *_Nullable alpn, size_t length);

// Reports the negotiated TLS parameters. Returns the length of the selected protocol in `alpn`, 0 if none was selected.
// The pointers are valid as long as the session.
size_t clastro_read_tls_agreement(
  const clastro_tls *tls, const char *_Nullable *_Nonnull version, const char *_Nullable *_Nonnull cipher,
  const uint8_t *_Nullable *_Nonnull alpn);
// Calls `found` with every certificate that the peer presented, leaf first.
void clastro_each_presented(
  const clastro_tls *tls, void *owner, void (*found)(void *owner, const clastro_peer_certificate *certificate));

// Returns the socket of a connected transfer; -1 if there is none (CURLINFO_ACTIVESOCKET).
curl_socket_t clastro_active_socket(CURL *easy);
// Returns the latest errno of the handle (CURLINFO_OS_ERRNO). A success does not clear it.
int clastro_os_errno(CURL *easy);

// Returns whether the connection uses TLS, even if only to a proxy. Call it where clastro_tls_of may be called.
bool clastro_has_tls(CURL *easy);
// Makes TLS read as much as the socket has, instead of a record's header first and then the rest. This halves the
// number of calls. From then on TLS may hold received bytes while the socket is not readable.
void clastro_read_ahead(CURL *easy);
// Returns whether TLS holds bytes of the connection that were not returned by a read: a record, or the beginning of
// one. Call it where clastro_tls_of may be called, or in the prereq callback.
bool clastro_holds_input(CURL *easy);
// Ends our direction of TLS. Writes the bytes that must be sent on the socket (close_notify, RFC 8446 §6.1) to `bytes`
// and returns their number, or -1. No write may be incomplete when it is called. `proxy_context` is the context of the
// connection to an https proxy if TLS goes through one, else NULL.
ssize_t clastro_make_close_notify(
  CURL *easy, void *_Nullable proxy_context, uint8_t *bytes, size_t capacity);

// Calls `found` with each address of a host, as text and in the system's order. Blocks. Returns 0 or an EAI_ code.
int clastro_resolve(
  const char *host, void *owner, void (*found)(void *owner, const char *address));
// Opens a non-blocking UDP socket that is connected to a numeric address. If `local` is not NULL, the socket is bound
// to that numeric address or network interface. Returns -1 and sets errno on failure.
int clastro_open_datagrams(const char *address, uint16_t port, const char *_Nullable local);
// Reads the peer's port and the local port of a socket; 0 if there is none.
void clastro_read_ports(int socket, int *remote, int *local);

#pragma clang assume_nonnull end
