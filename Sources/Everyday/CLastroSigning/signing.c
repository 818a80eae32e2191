// SPDX-License-Identifier: Apache-2.0
#if !__has_include(<openssl/evp.h>)
#error "<openssl/evp.h> is missing: install libssl-dev (its name on Debian and Ubuntu)"
#endif

#include "clastro_signing.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <string.h>

enum { COORDINATE = 32, MAXIMUM_DER = 80 };

static EVP_PKEY *pkey(const clastro_key *key) { return (EVP_PKEY *)key; }

// Refuses encrypted keys. OpenSSL's own callback would ask on the terminal.
static int no_password(char *buffer, int size, int writes, void *context) {
  (void)buffer, (void)size, (void)writes, (void)context;
  return -1;
}

static clastro_key *read_key(
  const char *pem, size_t length,
  EVP_PKEY *(*read)(BIO *, EVP_PKEY **, pem_password_cb *, void *)) {
  ERR_set_mark();
  EVP_PKEY *key = NULL;
  BIO *bio = length <= INT32_MAX ? BIO_new_mem_buf(pem, (int)length) : NULL;
  if (bio) key = read(bio, NULL, no_password, NULL);
  BIO_free(bio);
  ERR_pop_to_mark();
  return (clastro_key *)key;
}

clastro_key *clastro_key_read_private(const char *pem, size_t length) {
  return read_key(pem, length, PEM_read_bio_PrivateKey);
}

clastro_key *clastro_key_read_public(const char *pem, size_t length) {
  return read_key(pem, length, PEM_read_bio_PUBKEY);
}

clastro_key *clastro_key_ed25519_public(const uint8_t *bytes) {
  ERR_set_mark();
  EVP_PKEY *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, bytes, COORDINATE);
  ERR_pop_to_mark();
  return (clastro_key *)key;
}

clastro_key *clastro_key_generate_p256(void) {
  ERR_set_mark();
  EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
  ERR_pop_to_mark();
  return (clastro_key *)key;
}

void clastro_key_free(clastro_key *key) { EVP_PKEY_free(pkey(key)); }

clastro_key_kind clastro_key_get_kind(const clastro_key *key) {
  char group[32] = "";
  ERR_set_mark();
  clastro_key_kind kind = CLASTRO_KEY_OTHER;
  if (EVP_PKEY_is_a(pkey(key), "ED25519")) {
    kind = CLASTRO_KEY_ED25519;
  } else if (EVP_PKEY_is_a(pkey(key), "RSA") || EVP_PKEY_is_a(pkey(key), "RSA-PSS")) {
    kind = CLASTRO_KEY_RSA;
  } else if (
    EVP_PKEY_is_a(pkey(key), "EC") && EVP_PKEY_get_group_name(pkey(key), group, sizeof group, NULL) == 1 &&
    (!strcmp(group, "prime256v1") || !strcmp(group, "P-256"))) {
    kind = CLASTRO_KEY_P256;
  }
  ERR_pop_to_mark();
  return kind;
}

int clastro_key_bits(const clastro_key *key) { return EVP_PKEY_get_bits(pkey(key)); }

size_t clastro_key_component(const clastro_key *key, char name, uint8_t *out, size_t capacity) {
  size_t length = 0;
  ERR_set_mark();
  if (clastro_key_get_kind(key) == CLASTRO_KEY_ED25519) {
    length = capacity;
    if (name != 'x' || EVP_PKEY_get_raw_public_key(pkey(key), out, &length) != 1) length = 0;
  } else {
    bool is_coordinate = name == 'x' || name == 'y';
    const char *parameter = name == 'x'   ? OSSL_PKEY_PARAM_EC_PUB_X
                            : name == 'y' ? OSSL_PKEY_PARAM_EC_PUB_Y
                            : name == 'n' ? OSSL_PKEY_PARAM_RSA_N
                                          : OSSL_PKEY_PARAM_RSA_E;
    BIGNUM *number = NULL;
    if (EVP_PKEY_get_bn_param(pkey(key), parameter, &number) == 1) {
      int size = is_coordinate ? COORDINATE : BN_num_bytes(number);
      if (size > 0 && (size_t)size <= capacity && BN_bn2binpad(number, out, size) == size) length = (size_t)size;
    }
    BN_free(number);
  }
  ERR_pop_to_mark();
  return length;
}

static bool set_padding(EVP_PKEY_CTX *context, clastro_padding padding) {
  if (padding == CLASTRO_NO_PADDING) return true;
  if (padding == CLASTRO_PKCS1) return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1;
  return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
         EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1;
}

// Converts a DER signature into r and s.
static size_t fixed_size(const uint8_t *der, size_t length, uint8_t *out, size_t capacity) {
  if (capacity < 2 * COORDINATE) return 0;
  ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)length);
  bool works = pair && BN_bn2binpad(ECDSA_SIG_get0_r(pair), out, COORDINATE) == COORDINATE &&
               BN_bn2binpad(ECDSA_SIG_get0_s(pair), out + COORDINATE, COORDINATE) == COORDINATE;
  ECDSA_SIG_free(pair);
  return works ? 2 * COORDINATE : 0;
}

// Converts r and s into a DER signature of at most MAXIMUM_DER bytes.
static size_t der_form(const uint8_t *signature, size_t length, uint8_t *out) {
  if (length != 2 * COORDINATE) return 0;
  ECDSA_SIG *pair = ECDSA_SIG_new();
  BIGNUM *r = BN_bin2bn(signature, COORDINATE, NULL), *s = BN_bin2bn(signature + COORDINATE, COORDINATE, NULL);
  int size = 0;
  if (pair && r && s && ECDSA_SIG_set0(pair, r, s) == 1) {
    r = s = NULL;
    size = i2d_ECDSA_SIG(pair, NULL);
    size = size > 0 && size <= MAXIMUM_DER ? i2d_ECDSA_SIG(pair, &out) : 0;
  }
  BN_free(r);
  BN_free(s);
  ECDSA_SIG_free(pair);
  return size > 0 ? (size_t)size : 0;
}

size_t clastro_key_sign(
  const clastro_key *key, const char *digest, clastro_padding padding, const uint8_t *message, size_t length,
  uint8_t *out, size_t capacity) {
  ERR_set_mark();
  size_t written = 0;
  EVP_PKEY_CTX *settings = NULL;
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  if (
    context && EVP_DigestSignInit_ex(context, &settings, digest, NULL, NULL, pkey(key), NULL) == 1 &&
    set_padding(settings, padding)) {
    if (clastro_key_get_kind(key) == CLASTRO_KEY_P256) {
      uint8_t der[MAXIMUM_DER];
      size_t size = sizeof der;
      if (EVP_DigestSign(context, der, &size, message, length) == 1) written = fixed_size(der, size, out, capacity);
    } else {
      written = capacity;
      if (EVP_DigestSign(context, out, &written, message, length) != 1) written = 0;
    }
  }
  EVP_MD_CTX_free(context);
  ERR_pop_to_mark();
  return written;
}

clastro_verdict clastro_key_verify(
  const clastro_key *key, const char *digest, clastro_padding padding, const uint8_t *message, size_t length,
  const uint8_t *signature, size_t signature_length) {
  ERR_set_mark();
  uint8_t der[MAXIMUM_DER];
  clastro_verdict verdict = CLASTRO_SIGNATURE_UNCHECKED;
  bool is_read = true;
  EVP_PKEY_CTX *settings = NULL;
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  if (clastro_key_get_kind(key) == CLASTRO_KEY_P256) {
    signature_length = der_form(signature, signature_length, der);
    signature = der;
    is_read = signature_length > 0;
  }
  if (
    context && EVP_DigestVerifyInit_ex(context, &settings, digest, NULL, NULL, pkey(key), NULL) == 1 &&
    set_padding(settings, padding)) {
    bool is_valid = is_read && EVP_DigestVerify(context, signature, signature_length, message, length) == 1;
    verdict = is_valid ? CLASTRO_SIGNATURE_VALID : CLASTRO_SIGNATURE_INVALID;
  }
  EVP_MD_CTX_free(context);
  ERR_pop_to_mark();
  return verdict;
}
