// SPDX-License-Identifier: Apache-2.0
// Functions that read X.509 certificates and public keys. They verify nothing. A failure leaves nothing in OpenSSL's
// error queue.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// The contents of a certificate. The strings are UTF-8 and are freed by clastro_certificate_facts_free.
typedef struct {
  char *_Nullable subject;
  char *_Nullable issuer;
  // The validity period, in seconds since 1970.
  int64_t not_before;
  int64_t not_after;
  // OpenSSL's names of the algorithm, such as RSA, EC or ED25519, and of the curve, such as prime256v1.
  char *_Nullable key_algorithm;
  char *_Nullable key_curve;
  int key_bits;
  bool is_authority;
  // Whether the certificate says that its key may sign certificates or revocation lists: the CA flag of its basic
  // constraints is set, or keyCertSign or cRLSign of its key usage.
  bool may_certify;
  // Whether the certificate has a key usage with digitalSignature.
  bool may_sign;
  bool is_self_issued;
} clastro_certificate_facts;

// Reads a certificate. Returns false if `der` is not a certificate; then there is nothing to free.
bool clastro_certificate_read(const uint8_t *der, size_t length, clastro_certificate_facts *facts);
void clastro_certificate_facts_free(clastro_certificate_facts *facts);

// Computes the SHA-256 digest (32 bytes) of a certificate's SubjectPublicKeyInfo. Returns false if `der` is not a
// certificate.
bool clastro_certificate_pin(const uint8_t *der, size_t length, uint8_t *pin);

// Calls `each` with every host, IP address and URI among a certificate's subject alternative names. Hosts and URIs are
// passed unchanged and may contain any byte; addresses are passed as numeric text.
typedef void (*clastro_name_visitor)(void *_Nullable context, bool is_uri, const uint8_t *text, size_t length);
void clastro_certificate_names(const uint8_t *der, size_t length, void *_Nullable context, clastro_name_visitor each);

// Returns whether a certificate is valid for a host (RFC 6125). It checks the subject alternative names, or, if the
// certificate has none and `host` is a name, the common name. `host` is ASCII; an IPv6 address has no brackets.
bool clastro_certificate_is_for(const uint8_t *der, size_t length, const char *host, bool is_address);

enum {
  // A block is broken or encrypted.
  CLASTRO_PEM_BROKEN = -1,
  // A line was meant to begin a certificate, but was skipped.
  CLASTRO_PEM_SKIPPED = -2,
};

// Calls `each` with the DER form of every CERTIFICATE block. Returns the number of blocks or an error code from above.
// Lines must not be indented.
typedef void (*clastro_certificate_visitor)(void *_Nullable context, const uint8_t *der, size_t length);
int clastro_pem_certificates(
  const char *pem, size_t length, void *_Nullable context, clastro_certificate_visitor each);

// Computes the SHA-256 digest of the SubjectPublicKeyInfo of the first block: CERTIFICATE, CERTIFICATE REQUEST or
// PUBLIC KEY. Returns false if the first block is of another kind or is broken, or if an earlier line was meant to
// begin a block.
bool clastro_pem_pin(const char *pem, size_t length, uint8_t *pin);

#pragma clang assume_nonnull end
