// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

typedef enum { CLASTRO_SHA1, CLASTRO_SHA256 } clastro_hash;

// RFC 5869. False when libcrypto cannot do it (more than 255 blocks are asked for, no memory). Leaves nothing in
// OpenSSL's error queue.
bool clastro_hkdf(
  clastro_hash hash, const uint8_t *key, size_t key_length, const uint8_t *salt, size_t salt_length,
  const uint8_t *info, size_t info_length, uint8_t *out, size_t length);

// RFC 2104 with SHA-256; `out` has 32 bytes.
bool clastro_hmac_sha256(
  const uint8_t *key, size_t key_length, const uint8_t *message, size_t message_length, uint8_t *out);

// FIPS 180-4; `out` has 32 bytes.
bool clastro_sha256(const uint8_t *message, size_t length, uint8_t *out);

// RFC 1321; `out` has 16 bytes. False where libcrypto's settings forbid it, as FIPS does.
bool clastro_md5(const uint8_t *message, size_t length, uint8_t *out);

// Compares in the same time wherever the difference is.
bool clastro_equal(const uint8_t *one, const uint8_t *other, size_t length);

// Whether this thread has an error in OpenSSL's queue, which no function of this target leaves there.
bool clastro_has_errors(void);

#pragma clang assume_nonnull end
