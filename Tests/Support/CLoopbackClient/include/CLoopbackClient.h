// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "CLoopback.h"

#pragma clang assume_nonnull begin

// The client side of TLS (client.c), for tests of the loopback servers themselves. Such a connection is read, written
// and freed as a server's.

typedef struct cloopback_tls_session cloopback_tls_session;

typedef struct {
  const char *roots_pem;
  /// The server's name or IP address.
  const char *host;
  const uint8_t *_Nullable alpn;
  size_t alpn_length;
  /// The client's certificate chain and key. Set both or neither.
  const char *_Nullable chain_pem;
  const char *_Nullable key_pem;
  /// The session to resume; NULL for none.
  cloopback_tls_session *_Nullable session;
  bool asks_staple;
} cloopback_tls_client_options;

/// Performs the handshake and verifies the server. Returns NULL on failure. The caller keeps the socket.
cloopback_tls *_Nullable cloopback_tls_connect(int descriptor, const cloopback_tls_client_options *options,
                                               char *error);
/// Returns the current session. With TLS 1.3 it can be resumed only if something was read before.
cloopback_tls_session *_Nullable cloopback_tls_session_keep(cloopback_tls *tls);
void cloopback_tls_session_free(cloopback_tls_session *session);
/// Returns the length of the stapled OCSP response, 0 for none. The bytes are valid as long as `tls`.
size_t cloopback_tls_staple(const cloopback_tls *tls, const uint8_t *_Nullable *_Nonnull response);
typedef void (*cloopback_certificate_callback)(void *_Nullable context, const uint8_t *der, size_t length);
/// Calls `found` with the certificates that the server sent, in its order, and returns their number. The bytes are
/// valid only during the call.
size_t cloopback_tls_peer_chain(const cloopback_tls *tls, cloopback_certificate_callback found,
                                void *_Nullable context);

// The verification of certificates (verify.c).

/// Verifies the first certificate of `chain_pem` at the time `at`, with the others as intermediates. Returns X509_V_OK
/// (0), an X509_V_ERR_ code, or -1 if an input cannot be read.
int cloopback_verify(const char *chain_pem, const char *roots_pem, const char *_Nullable host, int64_t at,
                     char *error);

/// Computes the SHA-256 digest, 32 bytes, of the SubjectPublicKeyInfo of the first certificate (RFC 7469 §2.4).
bool cloopback_public_key_sha256(const char *certificate_pem, uint8_t *digest, char *error);

#pragma clang assume_nonnull end
