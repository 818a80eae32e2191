// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

#include "clastro_aead.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

enum { TAG = 16 };

// A clastro_aead is an EVP_CIPHER_CTX.

clastro_aead *clastro_aead_new(clastro_aead_kind kind, const uint8_t *key, bool seals) {
  static const char *const names[] = {"AES-128-GCM", "AES-256-GCM", "ChaCha20-Poly1305"};
  ERR_set_mark();
  EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, names[kind], NULL);
  EVP_CIPHER_CTX *context = cipher ? EVP_CIPHER_CTX_new() : NULL;
  if (context && EVP_CipherInit_ex2(context, cipher, key, NULL, seals, NULL) != 1) {
    EVP_CIPHER_CTX_free(context);
    context = NULL;
  }
  EVP_CIPHER_free(cipher);
  ERR_pop_to_mark();
  return (clastro_aead *)context;
}

// This also cleanses the context's copy of the key.
void clastro_aead_free(clastro_aead *aead) { EVP_CIPHER_CTX_free((EVP_CIPHER_CTX *)aead); }

bool clastro_aead_seal(
  clastro_aead *aead, const uint8_t *nonce, const uint8_t *message, size_t length, uint8_t *out) {
  if (length > INT_MAX) return false;
  ERR_set_mark();
  EVP_CIPHER_CTX *context = (EVP_CIPHER_CTX *)aead;
  int written = 0, rest = 0;
  bool works = EVP_EncryptInit_ex2(context, NULL, NULL, nonce, NULL) == 1
    && EVP_EncryptUpdate(context, out, &written, message, (int)length) == 1 && (size_t)written == length
    && EVP_EncryptFinal_ex(context, out + length, &rest) == 1 && rest == 0
    && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, TAG, out + length) == 1;
  ERR_pop_to_mark();
  return works;
}

clastro_opening clastro_aead_open(
  clastro_aead *aead, const uint8_t *nonce, const uint8_t *sealed, size_t length, uint8_t *out) {
  if (length < TAG) return CLASTRO_FORGED;
  size_t count = length - TAG;
  if (count > INT_MAX) return CLASTRO_OPEN_FAILED;
  ERR_set_mark();
  EVP_CIPHER_CTX *context = (EVP_CIPHER_CTX *)aead;
  int written = 0, rest = 0;
  bool works = EVP_DecryptInit_ex2(context, NULL, NULL, nonce, NULL) == 1
    && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG, (void *)(sealed + count)) == 1
    && EVP_DecryptUpdate(context, out, &written, sealed, (int)count) == 1 && (size_t)written == count;
  // When everything is set, this call fails only for a wrong tag.
  bool is_right = works && EVP_DecryptFinal_ex(context, out + count, &rest) == 1;
  if (!is_right) OPENSSL_cleanse(out, count);
  ERR_pop_to_mark();
  return is_right ? CLASTRO_OPENED : works ? CLASTRO_FORGED : CLASTRO_OPEN_FAILED;
}
