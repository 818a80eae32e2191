// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdbool.h>

// Between the files of this target. The OpenSSL types stay out of the public header.

struct cloopback_tls {
  SSL *ssl;
};

void cloopback_explain(char *error, const char *what);
BIO *cloopback_memory(const char *text);
/// The first certificate of a PEM text; NULL when there is none.
X509 *cloopback_read_certificate(const char *pem);
EVP_PKEY *cloopback_read_key(const char *pem);
/// All certificates of a PEM text, in order; NULL when there is none.
STACK_OF(X509) *cloopback_read_certificates(const char *pem);
/// What a key signs with; NULL for Ed25519, which brings its own digest.
const EVP_MD *cloopback_digest_for(EVP_PKEY *key);
/// What a server, or a client, presents: exactly the certificates of the text.
bool cloopback_use_identity(SSL_CTX *context, const char *chain_pem, const char *key_pem);
