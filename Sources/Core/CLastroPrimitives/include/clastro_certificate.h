// SPDX-License-Identifier: Apache-2.0
// Reading of X.509 certificates and public keys. Nothing here verifies anything. A failure leaves nothing in OpenSSL's
// error queue.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

enum { CLASTRO_PIN_LENGTH = 32 };

// What a certificate says. The strings are UTF-8, freed by clastro_certificate_facts_free.
typedef struct {
  char *_Nullable subject;
  char *_Nullable issuer;
  // Seconds since 1970.
  int64_t not_before;
  int64_t not_after;
  // OpenSSL's name of the algorithm, such as RSA, EC, ED25519; and of the curve, such as prime256v1.
  char *_Nullable key_algorithm;
  char *_Nullable key_curve;
  int key_bits;
  bool is_authority;
  bool is_self_issued;
} clastro_certificate_facts;

// False when `der` is not a certificate; there is nothing to free then.
bool clastro_certificate_read(const uint8_t *der, size_t length, clastro_certificate_facts *facts);
void clastro_certificate_facts_free(clastro_certificate_facts *facts);

// SHA-256 of the SubjectPublicKeyInfo of a certificate. False when `der` is not one.
bool clastro_certificate_pin(const uint8_t *der, size_t length, uint8_t *pin);

// Calls `each` with every host and address among a certificate's subject alternative names: hosts as they stand in it,
// with any byte, addresses in numbers.
typedef void (*clastro_name_visitor)(void *_Nullable context, const uint8_t *text, size_t length);
void clastro_certificate_names(const uint8_t *der, size_t length, void *_Nullable context, clastro_name_visitor each);

// Whether a certificate names a host (RFC 6125): by its subject alternative names, or, for a name and a certificate
// that has none of these, by its common name. `host` is ASCII, an IPv6 address without brackets.
bool clastro_certificate_is_for(const uint8_t *der, size_t length, const char *host, bool is_address);

enum {
  // A block is broken, or encrypted.
  CLASTRO_PEM_BROKEN = -1,
  // A line was meant to begin a certificate, and was skipped.
  CLASTRO_PEM_SKIPPED = -2,
};

// Calls `each` with the DER form of every CERTIFICATE block. Their number, or one of the above. Lines must not be
// indented.
typedef void (*clastro_certificate_visitor)(void *_Nullable context, const uint8_t *der, size_t length);
int clastro_pem_certificates(
  const char *pem, size_t length, void *_Nullable context, clastro_certificate_visitor each);

// SHA-256 of the SubjectPublicKeyInfo of the first block, which is CERTIFICATE, CERTIFICATE REQUEST or PUBLIC KEY.
// False when it is another, is broken, or a line before it was meant to begin one.
bool clastro_pem_pin(const char *pem, size_t length, uint8_t *pin);

#pragma clang assume_nonnull end
