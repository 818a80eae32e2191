// SPDX-License-Identifier: Apache-2.0
// AES-GCM (NIST SP 800-38D) and ChaCha20-Poly1305 (RFC 8439), without associated data. The output is the ciphertext
// followed by a tag of 16 bytes. Nonces have 12 bytes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clastro_opening.h"

#pragma clang assume_nonnull begin

typedef enum { CLASTRO_AES_128_GCM, CLASTRO_AES_256_GCM, CLASTRO_CHACHA20_POLY1305 } clastro_aead_kind;

// A key for one direction: sealing or opening. Use it from one thread at a time.
typedef struct clastro_aead clastro_aead;

// Makes a key. `key` has 16 bytes for AES-128 and 32 bytes otherwise. Returns NULL if libcrypto has no such cipher or
// there is no memory.
clastro_aead *_Nullable clastro_aead_new(clastro_aead_kind kind, const uint8_t *key, bool seals);

// Frees and cleanses the key. `aead` may be NULL.
void clastro_aead_free(clastro_aead *_Nullable aead);

// Encrypts a message. `out` has 16 bytes more than the message and may be the same memory. Returns false if libcrypto
// fails.
bool clastro_aead_seal(
  clastro_aead *aead, const uint8_t *nonce, const uint8_t *message, size_t length, uint8_t *out);

// Decrypts and authenticates a message. `out` has 16 bytes less than `sealed`, and is all zero if the tag is wrong.
clastro_opening clastro_aead_open(
  clastro_aead *aead, const uint8_t *nonce, const uint8_t *sealed, size_t length, uint8_t *out);

#pragma clang assume_nonnull end
