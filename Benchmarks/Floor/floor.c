// SPDX-License-Identifier: Apache-2.0
// The floor of the benchmarks: what a plain C program on libcurl needs for the same work.
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "fail.h"
#include "loop.h"
#include "measure.h"
#include "pool.h"

static struct result fetch(struct loop *loop, const struct arguments *arguments) {
  struct pool *pool = pool_new(loop, arguments, arguments->concurrency);
  (void)pool_fetch(pool, arguments->url, arguments->warmup);
  struct result result = {.requests = arguments->requests, .begin = stamp_now()};
  result.bytes = pool_fetch(pool, arguments->url, arguments->requests);
  result.end = stamp_now();
  pool_free(pool);
  return result;
}

int main(int count, char **values) {
  struct arguments arguments = parse_arguments(count, values);
  if (strcmp(arguments.scenario, "fetch") != 0) fail("%s: unknown scenario", arguments.scenario);
  check_easy(curl_global_init(CURL_GLOBAL_DEFAULT), "curl_global_init");
  struct loop loop;
  loop_open(&loop, arguments.concurrency);
  long idle_rss_kib = memory_kib("VmRSS");
  struct result result = fetch(&loop, &arguments);
  print_result(arguments.scenario, &result, idle_rss_kib);
  loop_close(&loop);
  curl_global_cleanup();
  return EXIT_SUCCESS;
}
