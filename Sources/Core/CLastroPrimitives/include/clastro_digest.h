// SPDX-License-Identifier: Apache-2.0
// Message digests and HMAC of OpenSSL's libcrypto. Doors and facts only: which algorithm is good for what is decided in
// Swift. A failure is reported, and leaves nothing in OpenSSL's error queue.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#pragma clang assume_nonnull begin

// A running digest (EVP_MD_CTX). For one thread at a time.
typedef struct clastro_digest clastro_digest;
// `algorithm` is a name that EVP_MD_fetch knows, such as SHA256. NULL when no provider has it (MD5 under FIPS), or
// there is no memory. The caller owns it: clastro_digest_free.
clastro_digest *_Nullable clastro_digest_new(const char *algorithm);
bool clastro_digest_update(clastro_digest *digest, const void *_Nullable data, size_t length);
// Writes the digest of all bytes so far, and leaves the running one as it is. Its length; 0 for a failure, also when
// `capacity` is too small.
size_t clastro_digest_value(const clastro_digest *digest, unsigned char *out, size_t capacity);
void clastro_digest_free(clastro_digest *digest);

// HMAC (RFC 2104). Its length; 0 for a failure.
size_t clastro_hmac(
  const char *algorithm, const void *_Nullable key, size_t key_length, const void *_Nullable data, size_t length,
  unsigned char *out, size_t capacity);

#pragma clang assume_nonnull end
