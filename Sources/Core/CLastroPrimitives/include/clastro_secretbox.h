// SPDX-License-Identifier: Apache-2.0
// XSalsa20 with Poly1305, as NaCl's secretbox has it: a tag of 16 bytes, then the ciphertext.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clastro_opening.h"

#pragma clang assume_nonnull begin

// A key with the first 16 bytes of a nonce, and what libcrypto needs for tags. One thread at a time.
typedef struct clastro_secretbox clastro_secretbox;

// NULL when libcrypto has no Poly1305, or there is no memory.
clastro_secretbox *_Nullable clastro_secretbox_new(const uint8_t *key, const uint8_t *nonce_prefix);

// Cleanses the key. Takes NULL.
void clastro_secretbox_free(clastro_secretbox *_Nullable box);

// `nonce` has the last 8 bytes. `out` has 16 bytes more than the message, which may begin at `out + 16`. False when
// libcrypto fails.
bool clastro_secretbox_seal(
  clastro_secretbox *box, const uint8_t *nonce, const uint8_t *message, size_t length, uint8_t *out);

// `out` has 16 bytes less than `sealed`, and is written only when the tag is right.
clastro_opening clastro_secretbox_open(
  clastro_secretbox *box, const uint8_t *nonce, const uint8_t *sealed, size_t length, uint8_t *out);

// Salsa20's core without the addition at the end: 32 bytes of a key and 16 bytes.
void clastro_hsalsa20(const uint8_t *key, const uint8_t *input, uint8_t *out);

// Poly1305 (RFC 8439 §2.5) with the box's context, not with its key; `out` has 16 bytes.
bool clastro_poly1305(
  clastro_secretbox *box, const uint8_t *key, const uint8_t *message, size_t length, uint8_t *out);

#pragma clang assume_nonnull end
