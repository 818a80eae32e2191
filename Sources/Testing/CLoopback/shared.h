// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdbool.h>

// Declarations shared by the files of this target. They keep the OpenSSL types out of the public header.

/// Makes a call such as SSL_accept() with SIGPIPE blocked until no signal interrupts it, and returns its result.
int cloopback_uninterrupted(SSL *ssl, int (*call)(SSL *));
void cloopback_explain(char *error, const char *what);
BIO *cloopback_memory(const char *text);
/// Reads the first certificate of a PEM text. Returns NULL if there is none.
X509 *cloopback_read_certificate(const char *pem);
EVP_PKEY *cloopback_read_key(const char *pem);
/// Reads all certificates of a PEM text, in order. Returns NULL if there is none.
STACK_OF(X509) *cloopback_read_certificates(const char *pem);
/// Returns the digest for signatures of a key; NULL for Ed25519, which has a digest of its own.
const EVP_MD *cloopback_digest_for(EVP_PKEY *key);
/// Sets the certificates that a server or client presents, exactly those of the text, and their key.
bool cloopback_use_identity(SSL_CTX *context, const char *chain_pem, const char *key_pem);
