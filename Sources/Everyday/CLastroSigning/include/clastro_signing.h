// SPDX-License-Identifier: Apache-2.0
// Asymmetric keys of OpenSSL's libcrypto: reading, signing and verifying. Swift decides which keys and algorithms are
// acceptable. A failure leaves nothing in OpenSSL's error queue, and nothing asks for a password.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// A private or public key. It is never changed, so several threads may use it.
typedef struct clastro_key clastro_key;

typedef enum { CLASTRO_KEY_ED25519, CLASTRO_KEY_P256, CLASTRO_KEY_RSA, CLASTRO_KEY_OTHER } clastro_key_kind;

// The form of a signature: that of the key alone, or one of RSA's paddings. The salt of PSS is as long as the digest.
typedef enum { CLASTRO_NO_PADDING, CLASTRO_PKCS1, CLASTRO_PSS } clastro_padding;

// Reads the first block of a PEM text. Returns NULL if it is not an unencrypted key of the wanted kind.
clastro_key *_Nullable clastro_key_read_private(const char *pem, size_t length);
clastro_key *_Nullable clastro_key_read_public(const char *pem, size_t length);
// Makes a public Ed25519 key of its 32 bytes.
clastro_key *_Nullable clastro_key_ed25519_public(const uint8_t *bytes);
// Makes a random P-256 key.
clastro_key *_Nullable clastro_key_generate_p256(void);
void clastro_key_free(clastro_key *key);

clastro_key_kind clastro_key_get_kind(const clastro_key *key);
int clastro_key_bits(const clastro_key *key);

// Writes a component of the public key and returns its length, or 0 on failure. The names are those of JSON Web Keys
// (RFC 7518 §6, RFC 8037 §2): `x` and `y`, each as long as the curve's coordinates, or `n` and `e` without leading
// zeros.
size_t clastro_key_component(const clastro_key *key, char name, uint8_t *out, size_t capacity);

// Signs a message. `digest` is the name of a hash function, or NULL for Ed25519. An ECDSA signature is r and s, 32
// bytes each. Returns the length of the signature, or 0 on failure.
size_t clastro_key_sign(
  const clastro_key *key, const char *_Nullable digest, clastro_padding padding, const uint8_t *message, size_t length,
  uint8_t *out, size_t capacity);

typedef enum { CLASTRO_SIGNATURE_INVALID, CLASTRO_SIGNATURE_VALID, CLASTRO_SIGNATURE_UNCHECKED } clastro_verdict;

// Returns whether a signature is that of the message, or that it cannot be checked: OpenSSL lacks the algorithm or
// memory, or the key is restricted to another algorithm.
clastro_verdict clastro_key_verify(
  const clastro_key *key, const char *_Nullable digest, clastro_padding padding, const uint8_t *message, size_t length,
  const uint8_t *signature, size_t signature_length);

#pragma clang assume_nonnull end
