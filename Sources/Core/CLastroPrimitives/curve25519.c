// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

#include "clastro_curve25519.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <string.h>

enum { SIZE = 32 };

bool clastro_x25519_public(const uint8_t *secret, uint8_t *out) {
  ERR_set_mark();
  size_t length = SIZE;
  EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, secret, SIZE);
  bool works = key && EVP_PKEY_get_raw_public_key(key, out, &length) == 1 && length == SIZE;
  EVP_PKEY_free(key);
  ERR_pop_to_mark();
  return works;
}

// The points of order 8, 4, 8 and 2: the multiples 1 to 4 of the first point. The multiples 5 to 7 are the negatives of
// 3 to 1, with the same u.
static const uint8_t low_order_u[4][SIZE] = {
  {0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b,
   0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57},
  {1},
  {0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
   0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00},
  {0},
};

// Returns whether every agreement with the point is zero: it has one of the orders 1, 2, 4 and 8, on the curve or its
// twist. The top bit is ignored (RFC 7748 §5).
static bool has_low_order(const uint8_t *point) {
  // 0 and 1, and with p = 2^255 − 19 added; and p − 1.
  uint8_t small[SIZE] = {0}, large[SIZE];
  memset(large, 0xff, SIZE);
  large[SIZE - 1] = 0x7f;
  uint8_t u[SIZE];
  memcpy(u, point, SIZE);
  u[SIZE - 1] &= 0x7f;
  if (!memcmp(u, low_order_u[0], SIZE) || !memcmp(u, low_order_u[2], SIZE)) return true;
  small[0] = u[0] & 1;
  if (!memcmp(u, small, SIZE)) return true;
  large[0] = u[0];
  return u[0] >= 0xec && u[0] <= 0xee && !memcmp(u, large, SIZE);
}

clastro_agreement clastro_x25519(const uint8_t *secret, const uint8_t *point, uint8_t *out) {
  ERR_set_mark();
  size_t length = SIZE;
  EVP_PKEY *own = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, secret, SIZE);
  EVP_PKEY *other = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, point, SIZE);
  EVP_PKEY_CTX *context = own && other ? EVP_PKEY_CTX_new(own, NULL) : NULL;
  bool works = context && EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer(context, other) == 1;
  // libcrypto reports an all-zero result and a lack of memory alike, so the point itself is looked at below.
  bool agrees = works && EVP_PKEY_derive(context, out, &length) == 1 && length == SIZE;
  EVP_PKEY_CTX_free(context);
  EVP_PKEY_free(other);
  EVP_PKEY_free(own);
  ERR_pop_to_mark();
  if (agrees) return CLASTRO_AGREED;
  return works && has_low_order(point) ? CLASTRO_ALL_ZERO : CLASTRO_AGREEMENT_FAILED;
}

// The field of integers modulo 2^255 − 19, for public values only: none of these functions takes constant time. After
// the first failure `works` is false, and nothing more is computed.
typedef struct {
  BN_CTX *context;
  BIGNUM *p, *a, *half;
  bool works;
} field;

// Returns a new value, which is valid until field_end. Without memory it returns p, so that no pointer is NULL.
static BIGNUM *value(field *f) {
  BIGNUM *new = BN_CTX_get(f->context);
  f->works = f->works && new;
  return new ? new : f->p;
}

static bool field_begin(field *f) {
  ERR_set_mark();
  *f = (field){.context = BN_CTX_new(), .works = true};
  if (!f->context) return false;
  BN_CTX_start(f->context);
  f->p = BN_CTX_get(f->context);
  if (!f->p) return false;
  f->a = value(f);
  f->half = value(f);
  f->works = f->works && BN_set_bit(f->p, 255) && BN_sub_word(f->p, 19) && BN_set_word(f->a, 486662)
    && BN_rshift1(f->half, f->p);
  return f->works;
}

static bool field_end(field *f) {
  if (f->context) BN_CTX_end(f->context);
  BN_CTX_free(f->context);
  ERR_pop_to_mark();
  return f->works && f->p;
}

static void add(field *f, BIGNUM *out, const BIGNUM *x, const BIGNUM *y) {
  f->works = f->works && BN_mod_add(out, x, y, f->p, f->context);
}

static void subtract(field *f, BIGNUM *out, const BIGNUM *x, const BIGNUM *y) {
  f->works = f->works && BN_mod_sub(out, x, y, f->p, f->context);
}

static void multiply(field *f, BIGNUM *out, const BIGNUM *x, const BIGNUM *y) {
  f->works = f->works && BN_mod_mul(out, x, y, f->p, f->context);
}

static void divide(field *f, BIGNUM *out, const BIGNUM *x, const BIGNUM *y) {
  BIGNUM *inverse = value(f);
  f->works = f->works && BN_mod_inverse(inverse, y, f->p, f->context);
  multiply(f, out, x, inverse);
}

static void negate(field *f, BIGNUM *x) {
  if (f->works && !BN_is_zero(x)) f->works = BN_sub(x, f->p, x);
}

// Sets `out` to x to the power of 2^bits − less.
static void power(field *f, BIGNUM *out, const BIGNUM *x, int bits, BN_ULONG less) {
  BIGNUM *exponent = value(f);
  f->works = f->works && BN_set_word(exponent, 0) && BN_set_bit(exponent, bits) && BN_sub_word(exponent, less)
    && BN_mod_exp(out, x, exponent, f->p, f->context);
}

// Returns whether x is a square other than 0: its power (p − 1) / 2 is then 1 (Euler's criterion).
static bool is_square(field *f, const BIGNUM *x) {
  BIGNUM *result = value(f);
  power(f, result, x, 254, 10);
  return f->works && BN_is_one(result);
}

// Negates x unless it is in 0…(p − 1) / 2.
static void make_absolute(field *f, BIGNUM *x) {
  if (f->works && BN_cmp(x, f->half) > 0) negate(f, x);
}

// Sets `out` to the square root of x that is in 0…(p − 1) / 2. x must be a square, and `out` must be another object.
static void square_root(field *f, BIGNUM *out, const BIGNUM *x) {
  BIGNUM *squared = value(f), *root_of_minus_one = value(f), *two = value(f);
  power(f, out, x, 252, 2);
  multiply(f, squared, out, out);
  if (f->works && BN_cmp(squared, x) != 0) {
    f->works = BN_set_word(two, 2);
    power(f, root_of_minus_one, two, 253, 5);
    multiply(f, out, out, root_of_minus_one);
  }
  make_absolute(f, out);
}

// Sets `out` to u³ + Au² + u.
static void right_side(field *f, BIGNUM *out, const BIGNUM *u) {
  BIGNUM *sum = value(f);
  add(f, sum, u, f->a);
  multiply(f, sum, sum, u);
  f->works = f->works && BN_add_word(sum, 1);
  multiply(f, out, sum, u);
}

static void read_value(field *f, BIGNUM *out, const uint8_t *bytes) {
  f->works = f->works && BN_lebin2bn(bytes, SIZE, out) && BN_nnmod(out, out, f->p, f->context);
}

static void write_value(field *f, const BIGNUM *x, uint8_t *out) {
  f->works = f->works && BN_bn2lebinpad(x, out, SIZE) == SIZE;
}

bool clastro_elligator2(const uint8_t *representative, uint8_t *out) {
  field f;
  if (field_begin(&f)) {
    uint8_t bytes[SIZE];
    memcpy(bytes, representative, SIZE);
    bytes[SIZE - 1] &= 0x3f;
    BIGNUM *r = value(&f), *w = value(&f), *g = value(&f), *denominator = value(&f), *minus_a = value(&f);
    read_value(&f, r, bytes);
    subtract(&f, minus_a, f.p, f.a);
    multiply(&f, denominator, r, r);
    add(&f, denominator, denominator, denominator);
    f.works = f.works && BN_add_word(denominator, 1);
    divide(&f, w, minus_a, denominator);
    right_side(&f, g, w);
    if (!is_square(&f, g)) subtract(&f, w, minus_a, w);
    write_value(&f, w, out);
  }
  return field_end(&f);
}

clastro_inversion clastro_elligator2_inverse(const uint8_t *point, uint8_t tweak, uint8_t *out) {
  field f;
  bool exists = false;
  if (field_begin(&f)) {
    BIGNUM *u = value(&f), *u_and_a = value(&f), *x = value(&f), *r = value(&f);
    read_value(&f, u, point);
    add(&f, u_and_a, u, f.a);
    multiply(&f, x, u, u_and_a);
    add(&f, x, x, x);
    negate(&f, x);
    exists = is_square(&f, x);
    if (exists) {
      square_root(&f, r, x);
      divide(&f, r, tweak & 1 ? u_and_a : u, r);
      make_absolute(&f, r);
      write_value(&f, r, out);
      out[SIZE - 1] |= tweak & 0xc0;
    }
  }
  return !field_end(&f) ? CLASTRO_INVERSION_FAILED : exists ? CLASTRO_REPRESENTED : CLASTRO_UNREPRESENTED;
}

// The coordinates v of these points.
static const uint8_t low_order_v[4][SIZE] = {
  {0xb7, 0x65, 0x80, 0x04, 0x42, 0x38, 0x10, 0x0f, 0xdd, 0x68, 0xaa, 0x8e, 0x46, 0x43, 0xa4, 0x20,
   0x15, 0x50, 0xfb, 0x45, 0x00, 0xca, 0xc6, 0x31, 0x64, 0x8e, 0x45, 0x3d, 0x89, 0x93, 0xc5, 0x68},
  {0x15, 0x44, 0x88, 0x9c, 0xef, 0x48, 0xa2, 0xe9, 0x63, 0x93, 0x4a, 0x28, 0xc7, 0x11, 0x5a, 0x63,
   0xef, 0xa6, 0xf4, 0xd7, 0x7a, 0xa7, 0x1f, 0xc2, 0xaf, 0xc2, 0xa9, 0xf9, 0x97, 0xf4, 0xe4, 0x6b},
  {0x1a, 0x7b, 0x50, 0x92, 0x83, 0x14, 0x87, 0x68, 0x4d, 0x1b, 0x80, 0xed, 0x29, 0xfc, 0x3b, 0x93,
   0x57, 0xb4, 0x28, 0xe6, 0x14, 0x2c, 0x48, 0x29, 0xa5, 0x83, 0x9e, 0x56, 0x29, 0xc1, 0x31, 0x39},
  {0},
};

bool clastro_add_low_order(const uint8_t *point, unsigned index, uint8_t *out) {
  index &= 7;
  if (index == 0) {
    memcpy(out, point, SIZE);
    return true;
  }
  field f;
  if (field_begin(&f)) {
    unsigned place = (index > 4 ? 8 - index : index) - 1;
    BIGNUM *u = value(&f), *v = value(&f), *a = value(&f), *b = value(&f), *slope = value(&f);
    read_value(&f, u, point);
    right_side(&f, slope, u);
    square_root(&f, v, slope);
    read_value(&f, a, low_order_u[place]);
    read_value(&f, b, low_order_v[place]);
    if (index > 4) negate(&f, b);
    subtract(&f, v, v, b);
    subtract(&f, slope, u, a);
    divide(&f, slope, v, slope);
    multiply(&f, slope, slope, slope);
    subtract(&f, slope, slope, f.a);
    subtract(&f, slope, slope, a);
    subtract(&f, slope, slope, u);
    write_value(&f, slope, out);
  }
  return field_end(&f);
}
