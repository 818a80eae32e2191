// SPDX-License-Identifier: Apache-2.0
// AES-GCM (NIST SP 800-38D) and ChaCha20-Poly1305 (RFC 8439), without associated data: the ciphertext, then a tag of 16
// bytes. Nonces have 12 bytes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clastro_opening.h"

#pragma clang assume_nonnull begin

typedef enum { CLASTRO_AES_128_GCM, CLASTRO_AES_256_GCM, CLASTRO_CHACHA20_POLY1305 } clastro_aead_kind;

// A key for one direction: it seals, or it opens. One thread at a time.
typedef struct clastro_aead clastro_aead;

// The key has 16 bytes, or 32. NULL when libcrypto has no such cipher, or there is no memory.
clastro_aead *_Nullable clastro_aead_new(clastro_aead_kind kind, const uint8_t *key, bool seals);

// Cleanses the key. Takes NULL.
void clastro_aead_free(clastro_aead *_Nullable aead);

// `out` has 16 bytes more than the message, and may begin where the message begins. False when libcrypto fails.
bool clastro_aead_seal(
  clastro_aead *aead, const uint8_t *nonce, const uint8_t *message, size_t length, uint8_t *out);

// `out` has 16 bytes less than `sealed`, and is all zero where the tag is not right.
clastro_opening clastro_aead_open(
  clastro_aead *aead, const uint8_t *nonce, const uint8_t *sealed, size_t length, uint8_t *out);

#pragma clang assume_nonnull end
