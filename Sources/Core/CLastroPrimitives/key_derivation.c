// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

#include "clastro_key_derivation.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

bool clastro_hkdf(
  clastro_hash hash, const uint8_t *key, size_t key_length, const uint8_t *salt, size_t salt_length,
  const uint8_t *info, size_t info_length, uint8_t *out, size_t length) {
  ERR_set_mark();
  EVP_KDF *kind = EVP_KDF_fetch(NULL, "HKDF", NULL);
  EVP_KDF_CTX *context = kind ? EVP_KDF_CTX_new(kind) : NULL;
  char *name = hash == CLASTRO_SHA1 ? "SHA1" : "SHA256";
  OSSL_PARAM parameters[] = {
    OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, name, 0),
    OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)key, key_length),
    OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)salt, salt_length),
    OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, info_length),
    OSSL_PARAM_construct_end(),
  };
  bool works = context && EVP_KDF_derive(context, out, length, parameters) == 1;
  EVP_KDF_CTX_free(context);
  EVP_KDF_free(kind);
  ERR_pop_to_mark();
  return works;
}

bool clastro_hmac_sha256(
  const uint8_t *key, size_t key_length, const uint8_t *message, size_t message_length, uint8_t *out) {
  ERR_set_mark();
  size_t length = 0;
  bool works = EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, key, key_length, message, message_length, out, 32,
                         &length) != NULL && length == 32;
  ERR_pop_to_mark();
  return works;
}

static bool digest(const char *name, const uint8_t *message, size_t length, uint8_t *out, size_t size) {
  ERR_set_mark();
  size_t written = 0;
  bool works = EVP_Q_digest(NULL, name, NULL, message, length, out, &written) == 1 && written == size;
  ERR_pop_to_mark();
  return works;
}

bool clastro_sha256(const uint8_t *message, size_t length, uint8_t *out) {
  return digest("SHA256", message, length, out, 32);
}

bool clastro_md5(const uint8_t *message, size_t length, uint8_t *out) {
  return digest("MD5", message, length, out, 16);
}

bool clastro_equal(const uint8_t *one, const uint8_t *other, size_t length) {
  return CRYPTO_memcmp(one, other, length) == 0;
}

bool clastro_has_errors(void) { return ERR_peek_error() != 0; }
