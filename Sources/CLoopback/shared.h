// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

// Between the files of this target. The OpenSSL types stay out of the public header.

void cloopback_explain(char *error, const char *what);
BIO *cloopback_memory(const char *text);
EVP_PKEY *cloopback_read_key(const char *pem);
/// All certificates of a PEM text, in order; NULL when there is none.
STACK_OF(X509) *cloopback_read_certificates(const char *pem);
