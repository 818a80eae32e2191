// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

#include "clastro_secretbox.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <string.h>

enum { TAG = 16, KEY = 32, BLOCK = 64, LANES = 4, GROUP = BLOCK * LANES };

// The same word of four blocks, so that four blocks cost as much as one. No branch and no index depends on a secret.
typedef uint32_t lanes __attribute__((vector_size(4 * LANES)));

struct clastro_secretbox {
  EVP_MAC_CTX *mac;
  uint8_t key[KEY];
};

static uint32_t word(const uint8_t *bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void put_word(uint8_t *bytes, uint32_t word) {
  for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(word >> 8 * i);
}

static lanes everywhere(uint32_t word) { return (lanes){word, word, word, word}; }

#define ROTATED(x, n) ((x) << (n) | (x) >> (32 - (n)))
#define QUARTER(a, b, c, d) \
  do { \
    lanes sum = x[a] + x[d]; \
    x[b] ^= ROTATED(sum, 7); \
    sum = x[b] + x[a]; \
    x[c] ^= ROTATED(sum, 9); \
    sum = x[c] + x[b]; \
    x[d] ^= ROTATED(sum, 13); \
    sum = x[d] + x[c]; \
    x[a] ^= ROTATED(sum, 18); \
  } while (0)

static void twenty_rounds(lanes x[16]) {
  for (int i = 0; i < 10; i++) {
    QUARTER(0, 4, 8, 12);
    QUARTER(5, 9, 13, 1);
    QUARTER(10, 14, 2, 6);
    QUARTER(15, 3, 7, 11);
    QUARTER(0, 1, 2, 3);
    QUARTER(5, 6, 7, 4);
    QUARTER(10, 11, 8, 9);
    QUARTER(15, 12, 13, 14);
  }
}

// Sets the initial state: "expand 32-byte k", the key, and `input` as the words 6 to 9.
static void fill(lanes x[16], const uint8_t *key, const uint8_t *input) {
  static const uint32_t constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  for (int i = 0; i < 4; i++) {
    x[5 * i] = everywhere(constants[i]);
    x[1 + i] = everywhere(word(key + 4 * i));
    x[11 + i] = everywhere(word(key + 16 + 4 * i));
    x[6 + i] = everywhere(word(input + 4 * i));
  }
}

void clastro_hsalsa20(const uint8_t *key, const uint8_t *input, uint8_t *out) {
  static const int outputs[8] = {0, 5, 10, 15, 6, 7, 8, 9};
  lanes x[16];
  fill(x, key, input);
  twenty_rounds(x);
  for (int i = 0; i < 8; i++) put_word(out + 4 * i, x[outputs[i]][0]);
  OPENSSL_cleanse(x, sizeof x);
}

// Writes four blocks of the stream, beginning with `block`.
static void stream_group(const uint8_t *key, const uint8_t *nonce, uint64_t block, uint8_t out[GROUP]) {
  uint8_t input[16] = {0};
  memcpy(input, nonce, 8);
  lanes start[16], x[16];
  fill(start, key, input);
  for (int lane = 0; lane < LANES; lane++) {
    start[8][lane] = (uint32_t)(block + (uint64_t)lane);
    start[9][lane] = (uint32_t)((block + (uint64_t)lane) >> 32);
  }
  memcpy(x, start, sizeof x);
  twenty_rounds(x);
  for (int i = 0; i < 16; i++) {
    x[i] += start[i];
    for (int lane = 0; lane < LANES; lane++) put_word(out + BLOCK * lane + 4 * i, x[i][lane]);
  }
  OPENSSL_cleanse(start, sizeof start);
  OPENSSL_cleanse(x, sizeof x);
}

static void exclusive_or(uint8_t *out, const uint8_t *in, const uint8_t *stream, size_t length) {
  size_t done = 0;
  for (uint64_t a, b; length - done >= sizeof a; done += sizeof a) {
    memcpy(&a, in + done, sizeof a);
    memcpy(&b, stream + done, sizeof b);
    a ^= b;
    memcpy(out + done, &a, sizeof a);
  }
  for (; done < length; done++) out[done] = in[done] ^ stream[done];
}

// Combines `in` with the stream, beginning with the stream's 33rd byte: the first 32 bytes are the key of the tag. On
// entry `stream` holds the first group of blocks.
static void add_stream(
  const uint8_t *key, const uint8_t *nonce, uint8_t stream[GROUP], const uint8_t *in, size_t length, uint8_t *out) {
  size_t offset = KEY, done = 0;
  for (uint64_t block = LANES; done < length; block += LANES) {
    size_t count = length - done < GROUP - offset ? length - done : GROUP - offset;
    exclusive_or(out + done, in + done, stream + offset, count);
    done += count;
    offset = 0;
    if (done < length) stream_group(key, nonce, block, stream);
  }
}

bool clastro_poly1305(
  clastro_secretbox *box, const uint8_t *key, const uint8_t *message, size_t length, uint8_t *out) {
  ERR_set_mark();
  size_t written = 0;
  bool works = EVP_MAC_init(box->mac, key, KEY, NULL) == 1 && EVP_MAC_update(box->mac, message, length) == 1
    && EVP_MAC_final(box->mac, out, &written, TAG) == 1 && written == TAG;
  ERR_pop_to_mark();
  return works;
}

clastro_secretbox *clastro_secretbox_new(const uint8_t *key, const uint8_t *nonce_prefix) {
  ERR_set_mark();
  clastro_secretbox *box = OPENSSL_zalloc(sizeof *box);
  EVP_MAC *kind = EVP_MAC_fetch(NULL, "POLY1305", NULL);
  if (box) {
    box->mac = kind ? EVP_MAC_CTX_new(kind) : NULL;
    clastro_hsalsa20(key, nonce_prefix, box->key);
    if (!box->mac) {
      clastro_secretbox_free(box);
      box = NULL;
    }
  }
  EVP_MAC_free(kind);
  ERR_pop_to_mark();
  return box;
}

void clastro_secretbox_free(clastro_secretbox *box) {
  if (!box) return;
  EVP_MAC_CTX_free(box->mac);
  OPENSSL_clear_free(box, sizeof *box);
}

bool clastro_secretbox_seal(
  clastro_secretbox *box, const uint8_t *nonce, const uint8_t *message, size_t length, uint8_t *out) {
  uint8_t stream[GROUP], mac_key[KEY];
  stream_group(box->key, nonce, 0, stream);
  memcpy(mac_key, stream, KEY);
  add_stream(box->key, nonce, stream, message, length, out + TAG);
  bool works = clastro_poly1305(box, mac_key, out + TAG, length, out);
  OPENSSL_cleanse(stream, sizeof stream);
  OPENSSL_cleanse(mac_key, sizeof mac_key);
  return works;
}

clastro_opening clastro_secretbox_open(
  clastro_secretbox *box, const uint8_t *nonce, const uint8_t *sealed, size_t length, uint8_t *out) {
  if (length < TAG) return CLASTRO_FORGED;
  uint8_t stream[GROUP], tag[TAG];
  stream_group(box->key, nonce, 0, stream);
  bool works = clastro_poly1305(box, stream, sealed + TAG, length - TAG, tag);
  bool is_right = works && CRYPTO_memcmp(tag, sealed, TAG) == 0;
  if (is_right) add_stream(box->key, nonce, stream, sealed + TAG, length - TAG, out);
  OPENSSL_cleanse(stream, sizeof stream);
  return is_right ? CLASTRO_OPENED : works ? CLASTRO_FORGED : CLASTRO_OPEN_FAILED;
}
