// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#pragma clang assume_nonnull begin

// A parsed set of trusted roots (X509_STORE), shared by all connections that use it.
typedef struct clastro_roots clastro_roots;
// NULL when `pem` holds no certificate. The caller owns it: clastro_roots_free.
clastro_roots *_Nullable clastro_roots_parse(const char *pem, size_t length);
void clastro_roots_free(clastro_roots *roots);

// Installs the SSL_CTX hook (CURLOPT_SSL_CTX_FUNCTION): records close_notify, refuses renegotiation, uses `roots`
// where given. `roots` must outlive the transfer.
CURLcode clastro_install_tls_hook(CURL *easy, const clastro_roots *_Nullable roots);

// What is remembered of one TLS connection, reference-counted: it outlives the SSL object.
typedef struct clastro_connection clastro_connection;
// The connection that serves `easy`, retained; NULL for plain text. Only inside a callback of the transfer
// (CURLINFO_TLS_SSL_PTR is NULL afterwards).
clastro_connection *_Nullable clastro_connection_retain(CURL *easy);
void clastro_connection_release(clastro_connection *connection);
// Whether the peer ended the stream with close_notify (RFC 8446 §6.1); a bare TCP FIN leaves it false.
bool clastro_connection_closed_cleanly(const clastro_connection *connection);
// The last fatal alert the peer sent (RFC 8446 §6.2); 0 when it sent none. In TLS 1.3 the refusal of a client certificate
// comes after the handshake, where libcurl reports a failed read.
int clastro_connection_fatal_alert(const clastro_connection *connection);
const char *clastro_alert_text(int alert);

// Whether the connection about to serve `easy` is a reused HTTP/1.1 one on which something has arrived already: bytes
// nobody asked for, or its end. Only inside the prereq callback. `socket` may have been closed meanwhile: it is believed
// only when its local port is `local_port`.
bool clastro_has_unsolicited_input(CURL *easy, int socket, int local_port);

// Ends the connection of `socket` both ways, so that libcurl finds it dead before it uses it again. `socket` may have been
// closed meanwhile: it is believed only when its local port is `local_port`.
void clastro_shut_down_socket(int socket, int local_port);

// OpenSSL's run-time version text.
const char *clastro_openssl_version(void);

#pragma clang assume_nonnull end
