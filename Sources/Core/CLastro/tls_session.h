// SPDX-License-Identifier: Apache-2.0
// Between the C files only.
#pragma once

#include "CLastro.h"

#include <openssl/ssl.h>

// The TLS session that serves a transfer, that to the target where there are two; NULL for none.
SSL *clastro_session_of(CURL *easy);
// The session that was made of a context that clastro_context_apply has seen; NULL before its handshake.
SSL *clastro_session_of_context(void *context);
// False when the certificate cannot be read. `out->der` is freed with OPENSSL_free in any case.
bool clastro_describe(X509 *certificate, clastro_peer_certificate *out);
