// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

typedef enum { CLASTRO_SHA1, CLASTRO_SHA256 } clastro_hash;

// Derives a key with HKDF (RFC 5869). Returns false if libcrypto cannot do it (more than 255 blocks requested, no
// memory). Leaves nothing in OpenSSL's error queue.
bool clastro_hkdf(
  clastro_hash hash, const uint8_t *key, size_t key_length, const uint8_t *salt, size_t salt_length,
  const uint8_t *info, size_t info_length, uint8_t *out, size_t length);

// Computes an HMAC with SHA-256 (RFC 2104); `out` has 32 bytes.
bool clastro_hmac_sha256(
  const uint8_t *key, size_t key_length, const uint8_t *message, size_t message_length, uint8_t *out);

// Computes a SHA-256 digest (FIPS 180-4); `out` has 32 bytes.
bool clastro_sha256(const uint8_t *message, size_t length, uint8_t *out);

// Computes an MD5 digest (RFC 1321); `out` has 16 bytes. Returns false if libcrypto's configuration forbids MD5, as
// FIPS does.
bool clastro_md5(const uint8_t *message, size_t length, uint8_t *out);

// Returns whether two byte strings are equal, in a time that does not depend on where they differ.
bool clastro_equal(const uint8_t *one, const uint8_t *other, size_t length);

// Returns whether OpenSSL's error queue of this thread has an entry. No function of this target leaves one.
bool clastro_has_errors(void);

#pragma clang assume_nonnull end
