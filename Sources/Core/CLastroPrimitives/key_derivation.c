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
  const char *algorithm, const uint8_t *key, size_t key_length, const uint8_t *salt, size_t salt_length,
  const uint8_t *info, size_t info_length, uint8_t *out, size_t length) {
  ERR_set_mark();
  EVP_KDF *kind = EVP_KDF_fetch(NULL, "HKDF", NULL);
  EVP_KDF_CTX *context = kind ? EVP_KDF_CTX_new(kind) : NULL;
  OSSL_PARAM parameters[] = {
    OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)algorithm, 0),
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

bool clastro_equal(const uint8_t *one, const uint8_t *other, size_t length) {
  return CRYPTO_memcmp(one, other, length) == 0;
}

bool clastro_has_errors(void) { return ERR_peek_error() != 0; }
