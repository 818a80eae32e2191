// SPDX-License-Identifier: Apache-2.0
// What the self-check talks to: a TLS server in this process, at a port of 127.0.0.1. No decisions.
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#include "clastro_curl.h"

#pragma clang assume_nonnull begin

// A server with a certificate and a key of its own, made anew. It answers every request of HTTP/1.1 with 204.
typedef struct clastro_check_server clastro_check_server;
// `host`: the name in its certificate. NULL when OpenSSL cannot make one.
clastro_check_server *_Nullable clastro_check_server_new(const char *host);
void clastro_check_server_free(clastro_check_server *server);
// Its certificate as PEM, which is its own root.
const char *clastro_check_server_root(const clastro_check_server *server, size_t *length);
// A socket to connect to it with, to be closed by the caller; -1 when there cannot be one. Changes the address that is
// to be connected to.
curl_socket_t clastro_check_server_open(clastro_check_server *server, struct curl_sockaddr *address);
// Takes the connections of those sockets, reads what has come on all, and answers it. Never blocks.
void clastro_check_server_step(clastro_check_server *server);

typedef struct {
  // Handshakes that are over, and those among them that resumed a session.
  int handshakes, resumptions;
  // Bytes of requests, decrypted.
  size_t request_bytes;
} clastro_check_counts;
clastro_check_counts clastro_check_server_counts(const clastro_check_server *server);

// Sets a handle up for one exchange with the server; `open` gives it its socket.
void clastro_check_install(
  CURL *easy, void *owner, clastro_open_callback open, clastro_prereq_callback _Nullable prereq,
  clastro_data_callback discard);

// As a library would that puts its own verification in place of ours, and accepts everything. For tests of the check.
void clastro_check_defeat_verification(void *context);

#pragma clang assume_nonnull end
