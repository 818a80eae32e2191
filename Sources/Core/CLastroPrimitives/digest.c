// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

#include "clastro_digest.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdlib.h>

struct clastro_digest {
  EVP_MD_CTX *context;
};

clastro_digest *clastro_digest_new(const char *algorithm) {
  clastro_digest *digest = malloc(sizeof *digest);
  if (!digest) return NULL;
  ERR_set_mark();
  EVP_MD *kind = EVP_MD_fetch(NULL, algorithm, NULL);
  digest->context = EVP_MD_CTX_new();
  bool works = kind && digest->context && EVP_DigestInit_ex2(digest->context, kind, NULL) == 1;
  // The context keeps its own reference.
  EVP_MD_free(kind);
  ERR_pop_to_mark();
  if (works) return digest;
  clastro_digest_free(digest);
  return NULL;
}

bool clastro_digest_update(clastro_digest *digest, const void *data, size_t length) {
  ERR_set_mark();
  bool works = EVP_DigestUpdate(digest->context, data, length) == 1;
  ERR_pop_to_mark();
  return works;
}

size_t clastro_digest_value(const clastro_digest *digest, unsigned char *out, size_t capacity) {
  int size = EVP_MD_CTX_get_size(digest->context);
  if (size <= 0 || (size_t)size > capacity) return 0;
  ERR_set_mark();
  unsigned int length = 0;
  EVP_MD_CTX *copy = EVP_MD_CTX_new();
  bool works =
    copy && EVP_MD_CTX_copy_ex(copy, digest->context) == 1 && EVP_DigestFinal_ex(copy, out, &length) == 1;
  EVP_MD_CTX_free(copy);
  ERR_pop_to_mark();
  return works ? length : 0;
}

void clastro_digest_free(clastro_digest *digest) {
  EVP_MD_CTX_free(digest->context);
  free(digest);
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
