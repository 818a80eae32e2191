// SPDX-License-Identifier: Apache-2.0
// The TLS server of the self-check, which runs in this process on a port of 127.0.0.1. No policy is decided here.
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#include "clastro_curl.h"

#pragma clang assume_nonnull begin

// A TLS server with a newly made certificate and key. It responds to every HTTP/1.1 request with 204.
typedef struct clastro_check_server clastro_check_server;
// Makes a server; `host` is the name in its certificate. Returns NULL if the socket, the key or the certificate cannot
// be made.
clastro_check_server *_Nullable clastro_check_server_new(const char *host);
void clastro_check_server_free(clastro_check_server *server);
// Returns the server's certificate as PEM. It is self-signed, so it is also the root. The text is not NUL-terminated
// and is valid as long as the server.
const char *clastro_check_server_root(const clastro_check_server *server, size_t *length);
// Makes a socket for connecting to the server, and changes the address to connect to into the server's. The caller
// closes the socket. Returns -1 if no socket can be made, or after 16 sockets.
curl_socket_t clastro_check_server_open(clastro_check_server *server, struct curl_sockaddr *address);
// Accepts connections from those sockets, reads the received bytes of all connections, and responds. Never blocks.
void clastro_check_server_step(clastro_check_server *server);

typedef struct {
  // The number of connections that resumed a session.
  int resumptions;
  // The number of request bytes, after decryption.
  size_t request_bytes;
} clastro_check_counts;
clastro_check_counts clastro_check_server_counts(const clastro_check_server *server);

// Replaces our verification by one that accepts every certificate, as another library might do. For tests of the
// self-check.
void clastro_check_defeat_verification(void *context);

#pragma clang assume_nonnull end
