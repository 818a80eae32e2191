// SPDX-License-Identifier: Apache-2.0
// Message digests and HMAC of OpenSSL's libcrypto. Swift decides which algorithm is suitable for which purpose. A
// failure is reported and leaves nothing in OpenSSL's error queue.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#pragma clang assume_nonnull begin

// A running digest (EVP_MD_CTX). Use it from one thread at a time.
typedef struct clastro_digest clastro_digest;
// Starts a digest. `algorithm` is a name that EVP_MD_fetch knows, such as SHA256. Returns NULL if no provider has the
// algorithm (MD5 under FIPS) or there is no memory. The caller frees the digest with clastro_digest_free.
clastro_digest *_Nullable clastro_digest_new(const char *algorithm);
bool clastro_digest_update(clastro_digest *digest, const void *_Nullable data, size_t length);
// Writes the digest of all bytes so far; the running digest can be continued. Returns its length, or 0 on failure,
// including when `capacity` is too small.
size_t clastro_digest_value(const clastro_digest *digest, unsigned char *out, size_t capacity);
void clastro_digest_free(clastro_digest *digest);

// Computes the digest of a message in memory; `size` is the length of the algorithm's digests. Returns false if no
// provider has the algorithm or there is no memory.
bool clastro_digest_of(
  const char *algorithm, const void *message, size_t length, unsigned char *out, size_t size);

// Computes an HMAC (RFC 2104). Returns its length, or 0 on failure.
size_t clastro_hmac(
  const char *algorithm, const void *_Nullable key, size_t key_length, const void *_Nullable data, size_t length,
  unsigned char *out, size_t capacity);

#pragma clang assume_nonnull end
