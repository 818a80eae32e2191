// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

#include "clastro_digest.h"

#include <openssl/err.h>
#include <openssl/evp.h>

// A clastro_digest is an EVP_MD_CTX.

clastro_digest *clastro_digest_new(const char *algorithm) {
  ERR_set_mark();
  EVP_MD *kind = EVP_MD_fetch(NULL, algorithm, NULL);
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  bool works = kind && context && EVP_DigestInit_ex2(context, kind, NULL) == 1;
  // The context keeps its own reference.
  EVP_MD_free(kind);
  ERR_pop_to_mark();
  if (works) return (clastro_digest *)context;
  EVP_MD_CTX_free(context);
  return NULL;
}

bool clastro_digest_update(clastro_digest *digest, const void *data, size_t length) {
  ERR_set_mark();
  bool works = EVP_DigestUpdate((EVP_MD_CTX *)digest, data, length) == 1;
  ERR_pop_to_mark();
  return works;
}

size_t clastro_digest_value(const clastro_digest *digest, unsigned char *out, size_t capacity) {
  const EVP_MD_CTX *context = (const EVP_MD_CTX *)digest;
  int size = EVP_MD_CTX_get_size(context);
  if (size <= 0 || (size_t)size > capacity) return 0;
  ERR_set_mark();
  unsigned int length = 0;
  EVP_MD_CTX *copy = EVP_MD_CTX_new();
  bool works =
    copy && EVP_MD_CTX_copy_ex(copy, context) == 1 && EVP_DigestFinal_ex(copy, out, &length) == 1;
  EVP_MD_CTX_free(copy);
  ERR_pop_to_mark();
  return works ? length : 0;
}

void clastro_digest_free(clastro_digest *digest) { EVP_MD_CTX_free((EVP_MD_CTX *)digest); }

bool clastro_digest_of(const char *algorithm, const void *message, size_t length, unsigned char *out, size_t size) {
  ERR_set_mark();
  size_t written = 0;
  bool works = EVP_Q_digest(NULL, algorithm, NULL, message, length, out, &written) == 1 && written == size;
  ERR_pop_to_mark();
  return works;
}

size_t clastro_hmac(
  const char *algorithm, const void *key, size_t key_length, const void *data, size_t length, unsigned char *out,
  size_t capacity) {
  size_t written = 0;
  ERR_set_mark();
  // OpenSSL treats a NULL pointer as a missing key. An empty key is valid, so pass a pointer.
  unsigned char *mac = EVP_Q_mac(
    NULL, "HMAC", NULL, algorithm, NULL, key ? key : "", key_length, data, length, out, capacity, &written);
  ERR_pop_to_mark();
  return mac ? written : 0;
}
