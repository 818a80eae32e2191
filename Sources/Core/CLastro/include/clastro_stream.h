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

// Has a context carry a stream of bytes: a write that is to be repeated may come from another place in memory, and the
// protocols of `alpn` are offered (wire form of RFC 7301 §3.1; none where it is empty).
bool clastro_context_carry_stream(void *context, const uint8_t *_Nullable alpn, size_t length);

// What TLS agreed on: the length of `alpn`, the protocol that was picked, 0 for none; -1 where the connection of `easy`
// has no TLS. The pointers are valid as long as the connection. For callbacks of the transfer, and after curl_easy_recv
// or curl_easy_send was called for it.
ssize_t clastro_read_tls_agreement(
  CURL *easy, const char *_Nullable *_Nonnull version, const char *_Nullable *_Nonnull cipher,
  const uint8_t *_Nullable *_Nonnull alpn);
// Calls `found` with every certificate that the peer presented, leaf first.
void clastro_each_presented(
  CURL *easy, void *owner, void (*found)(void *owner, const clastro_peer_certificate *certificate));

// The socket of a transfer that has connected; -1 where there is none (CURLINFO_ACTIVESOCKET).
curl_socket_t clastro_active_socket(CURL *easy);
// CURLINFO_OS_ERRNO: the latest of the handle, which no success clears.
int clastro_os_errno(CURL *easy);

// Whether bytes pass through TLS, be it to a proxy only. As for clastro_read_tls_agreement.
bool clastro_has_tls(CURL *easy);
// Has TLS read what the socket has rather than the head of a record, and then its rest: half as many calls. From then
// on bytes may lie in it of which the socket tells nothing.
void clastro_read_ahead(CURL *easy);
// Whether TLS holds bytes of the connection that no read has taken: a record, or the beginning of one. As for
// clastro_read_tls_agreement, or inside the prereq callback.
bool clastro_holds_input(CURL *easy);
// Ends our direction of TLS: the bytes that the socket has to carry to tell the peer (close_notify, RFC 8446 §6.1), in
// `bytes`. Their number, or -1. Nothing may be half-written. `proxy_context` is the context of the connection to an
// https proxy where TLS goes through one, else NULL.
ssize_t clastro_make_close_notify(
  CURL *easy, void *_Nullable proxy_context, uint8_t *bytes, size_t capacity);

// The addresses of a host, as text, in the system's order; blocks. 0, or an EAI_ code.
int clastro_resolve(
  const char *host, void *owner, void (*found)(void *owner, const char *address));
const char *clastro_resolve_error(int code);
// A connected, non-blocking UDP socket to a numeric address, bound to a numeric local address or an interface's name
// where one is given. -1 and errno.
int clastro_open_datagrams(const char *address, uint16_t port, const char *_Nullable local);
// Both ends of a socket: the peer's port and our own; 0 where there is none.
void clastro_read_ports(int socket, int *remote, int *local);

#pragma clang assume_nonnull end
