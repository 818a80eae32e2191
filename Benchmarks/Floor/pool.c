// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#include <stdlib.h>
#include <string.h>

#include "easy.h"
#include "fail.h"

struct slot {
  CURL *easy;
  char *body;
  size_t length;
  size_t capacity;
};

struct pool {
  struct loop *loop;
  struct slot *slots;
  long handles;
  long long size;
  const char *url;
  long unstarted;
  long unfinished;
};

static size_t collect(char *data, size_t size, size_t count, void *context) {
  struct slot *slot = context;
  size_t length = size * count;
  if (slot->capacity - slot->length < length) {
    slot->capacity = slot->capacity * 2 > slot->length + length ? slot->capacity * 2 : slot->length + length;
    slot->body = grown(slot->body, slot->capacity, 1);
  }
  memcpy(slot->body + slot->length, data, length);
  slot->length += length;
  return length;
}

struct pool *pool_new(struct loop *loop, const struct arguments *arguments, long handles) {
  struct pool *pool = grown(NULL, 1, sizeof *pool);
  *pool = (struct pool){.loop = loop, .handles = handles, .size = arguments->size};
  pool->slots = grown(NULL, (size_t)handles, sizeof *pool->slots);
  for (long index = 0; index < handles; index++) {
    struct slot *slot = &pool->slots[index];
    *slot = (struct slot){.easy = easy_new(arguments)};
    check_easy(curl_easy_setopt(slot->easy, CURLOPT_PRIVATE, slot), "PRIVATE");
    check_easy(curl_easy_setopt(slot->easy, CURLOPT_WRITEFUNCTION, collect), "WRITEFUNCTION");
    check_easy(curl_easy_setopt(slot->easy, CURLOPT_WRITEDATA, slot), "WRITEDATA");
  }
  return pool;
}

void pool_free(struct pool *pool) {
  for (long index = 0; index < pool->handles; index++) {
    curl_easy_cleanup(pool->slots[index].easy);
    free(pool->slots[index].body);
  }
  free(pool->slots);
  free(pool);
}

void pool_set(struct pool *pool, CURLoption option, long value) {
  for (long index = 0; index < pool->handles; index++) {
    check_easy(curl_easy_setopt(pool->slots[index].easy, option, value), "curl_easy_setopt");
  }
}

static void start(struct pool *pool, struct slot *slot) {
  slot->length = 0;
  pool->unstarted--;
  check_easy(curl_easy_setopt(slot->easy, CURLOPT_URL, pool->url), "URL");
  loop_add(pool->loop, slot->easy);
}

static void ended(void *context, CURL *easy, CURLcode result) {
  struct pool *pool = context;
  char *private = NULL;
  check_easy(curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private), "PRIVATE");
  struct slot *slot = (struct slot *)private;
  easy_check(easy, result);
  if ((long long)slot->length != pool->size) fail("%zu bytes came instead of %lld", slot->length, pool->size);
  pool->unfinished--;
  if (pool->unstarted > 0) start(pool, slot);
}

long long pool_fetch(struct pool *pool, const char *url, long requests) {
  pool->url = url;
  pool->unstarted = pool->unfinished = requests;
  for (long index = 0; index < pool->handles && pool->unstarted > 0; index++) start(pool, &pool->slots[index]);
  while (pool->unfinished > 0) loop_turn(pool->loop, ended, pool);
  return (long long)requests * pool->size;
}
