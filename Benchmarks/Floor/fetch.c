// SPDX-License-Identifier: Apache-2.0
#include "loop.h"
#include "pool.h"
#include "scenarios.h"

static struct result measured(struct pool *pool, const struct arguments *arguments, const char *url) {
  (void)pool_fetch(pool, url, arguments->warmup);
  struct result result = {.requests = arguments->requests, .begin = stamp_now()};
  result.bytes = pool_fetch(pool, url, arguments->requests);
  result.end = stamp_now();
  return result;
}

struct result run_fetch(const struct arguments *arguments) {
  struct loop loop;
  loop_open(&loop, arguments->http, arguments->concurrency);
  struct pool *pool = pool_new(&loop, arguments, arguments->concurrency);
  struct result result = measured(pool, arguments, arguments->url);
  pool_free(pool);
  loop_close(&loop);
  return result;
}

struct result run_handshakes(const struct arguments *arguments) {
  struct loop loop;
  loop_open(&loop, arguments->http, 1);
  struct pool *pool = pool_new(&loop, arguments, 1);
  pool_set(pool, CURLOPT_FRESH_CONNECT, 1);
  pool_set(pool, CURLOPT_FORBID_REUSE, 1);
  pool_set(pool, CURLOPT_SSL_SESSIONID_CACHE, 0);
  struct result result = measured(pool, arguments, arguments->url);
  pool_free(pool);
  loop_close(&loop);
  return result;
}
