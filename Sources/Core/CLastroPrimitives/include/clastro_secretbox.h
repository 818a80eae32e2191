// SPDX-License-Identifier: Apache-2.0
// XSalsa20 with Poly1305, in the form of NaCl's secretbox: a tag of 16 bytes, then the ciphertext.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clastro_opening.h"

#pragma clang assume_nonnull begin

// A key combined with the first 16 bytes of a nonce, and libcrypto's context for tags. Use it from one thread at a
// time.
typedef struct clastro_secretbox clastro_secretbox;

// Makes a box. Returns NULL if libcrypto has no Poly1305 or there is no memory.
clastro_secretbox *_Nullable clastro_secretbox_new(const uint8_t *key, const uint8_t *nonce_prefix);

// Frees the box and cleanses the key. `box` may be NULL.
void clastro_secretbox_free(clastro_secretbox *_Nullable box);

// Encrypts a message. `nonce` has the last 8 bytes of the nonce. `out` has 16 bytes more than the message, which may
// begin at `out + 16`. Returns false if libcrypto fails.
bool clastro_secretbox_seal(
  clastro_secretbox *box, const uint8_t *nonce, const uint8_t *message, size_t length, uint8_t *out);

// Authenticates and decrypts a message. `out` has 16 bytes less than `sealed`, and is written only if the tag is right.
clastro_opening clastro_secretbox_open(
  clastro_secretbox *box, const uint8_t *nonce, const uint8_t *sealed, size_t length, uint8_t *out);

// Computes HSalsa20: Salsa20's core without the final addition, from a key of 32 bytes and an input of 16 bytes. `out`
// has 32 bytes.
void clastro_hsalsa20(const uint8_t *key, const uint8_t *input, uint8_t *out);

// Computes Poly1305 (RFC 8439 §2.5) with the box's context, but not with its key; `out` has 16 bytes.
bool clastro_poly1305(
  clastro_secretbox *box, const uint8_t *key, const uint8_t *message, size_t length, uint8_t *out);

#pragma clang assume_nonnull end
