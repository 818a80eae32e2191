// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// Derives a key with HKDF (RFC 5869) and a hash function of this name. Returns false if libcrypto cannot do it (more
// than 255 blocks requested, no memory). Leaves nothing in OpenSSL's error queue.
bool clastro_hkdf(
  const char *algorithm, const uint8_t *key, size_t key_length, const uint8_t *salt, size_t salt_length,
  const uint8_t *info, size_t info_length, uint8_t *out, size_t length);

// Returns whether two byte strings are equal, in a time that does not depend on where they differ.
bool clastro_equal(const uint8_t *one, const uint8_t *other, size_t length);

// Returns whether OpenSSL's error queue of this thread has an entry. No function of this target leaves one.
bool clastro_has_errors(void);

#pragma clang assume_nonnull end
