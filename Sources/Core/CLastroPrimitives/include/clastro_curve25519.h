// SPDX-License-Identifier: Apache-2.0
// Curve25519: key agreement (RFC 7748), and Elligator 2 in both directions. All values are 32 bytes, little endian.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// Computes the public key of a secret. Returns false if libcrypto has no X25519 or there is no memory.
bool clastro_x25519_public(const uint8_t *secret, uint8_t *out);

typedef enum { CLASTRO_AGREED, CLASTRO_ALL_ZERO, CLASTRO_AGREEMENT_FAILED } clastro_agreement;

// Computes the shared secret. For CLASTRO_ALL_ZERO the point is of low order, and `out` must not be used.
clastro_agreement clastro_x25519(const uint8_t *secret, const uint8_t *point, uint8_t *out);

// Computes the point of a representative, whose top two bits are ignored. Returns false if libcrypto fails.
bool clastro_elligator2(const uint8_t *representative, uint8_t *out);

typedef enum { CLASTRO_REPRESENTED, CLASTRO_UNREPRESENTED, CLASTRO_INVERSION_FAILED } clastro_inversion;

// Computes the representative of a point; about half of all points have one. The lowest bit of the tweak chooses one of
// two representatives, and its top two bits become the top two bits of the representative.
clastro_inversion clastro_elligator2_inverse(const uint8_t *point, uint8_t tweak, uint8_t *out);

// Adds the low-order point with this index, 0 to 7, to a point of prime order. Returns false if libcrypto fails.
bool clastro_add_low_order(const uint8_t *point, unsigned index, uint8_t *out);

#pragma clang assume_nonnull end
