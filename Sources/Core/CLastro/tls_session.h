// SPDX-License-Identifier: Apache-2.0
// Declarations shared by the C files of this target.
#pragma once

#include "CLastro.h"

#include <openssl/ssl.h>

// Returns the session created from a context that clastro_context_apply has configured. NULL before its handshake
// begins.
SSL *clastro_session_of_context(void *context);
// Fills `out` from a certificate. Returns false if the certificate cannot be read. In either case the caller frees
// `out->der` with OPENSSL_free.
bool clastro_describe(X509 *certificate, clastro_peer_certificate *out);
// Makes a session that reads from and writes to memory. Returns NULL if memory cannot be allocated.
SSL *clastro_tls_in_memory(SSL_CTX *context);
// Gives OpenSSL the password of a PEM block; refuses if `password` is NULL. Without this callback OpenSSL would ask for
// the password on the terminal.
int clastro_give_password(char *buffer, int size, int is_writing, void *password);
