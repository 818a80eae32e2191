// SPDX-License-Identifier: Apache-2.0
// Curve25519: key agreement (RFC 7748), and Elligator 2 both ways. All values are 32 bytes, little endian.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// False when libcrypto has no X25519, or there is no memory.
bool clastro_x25519_public(const uint8_t *secret, uint8_t *out);

typedef enum { CLASTRO_AGREED, CLASTRO_ALL_ZERO, CLASTRO_AGREEMENT_FAILED } clastro_agreement;

// All zero: the point is of low order, and `out` is not to be used.
clastro_agreement clastro_x25519(const uint8_t *secret, const uint8_t *point, uint8_t *out);

// The point that a representative stands for; its top two bits mean nothing. False when libcrypto fails.
bool clastro_elligator2(const uint8_t *representative, uint8_t *out);

typedef enum { CLASTRO_REPRESENTED, CLASTRO_UNREPRESENTED, CLASTRO_INVERSION_FAILED } clastro_inversion;

// The representative of a point; about half of all points have one. The lowest bit of the tweak chooses one of two, its
// top two bits are those of the representative.
clastro_inversion clastro_elligator2_inverse(const uint8_t *point, uint8_t tweak, uint8_t *out);

// The sum of a point of prime order and the point of low order with this index, 0 to 7. False when libcrypto fails.
bool clastro_add_low_order(const uint8_t *point, unsigned index, uint8_t *out);

#pragma clang assume_nonnull end
