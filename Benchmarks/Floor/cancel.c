// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "easy.h"
#include "fail.h"
#include "loop.h"
#include "pool.h"
#include "scenarios.h"

// libcurl calls it when the request is about to be sent on its connection.
static int in_flight(void *context, char *peer, char *local, int peer_port, int local_port) {
  (void)peer, (void)local, (void)peer_port, (void)local_port;
  (*(long *)context)++;
  return CURL_PREREQFUNC_OK;
}

static void ended_too_early(void *context, CURL *easy, CURLcode result) {
  (void)context, (void)easy;
  fail("a request ended by itself: %s", curl_easy_strerror(result));
}

struct result run_cancel(const struct arguments *arguments) {
  if (arguments->url2 == NULL) fail("cancel needs url2=");
  struct loop loop;
  loop_open(&loop, arguments->http, arguments->requests);
  size_t count = (size_t)arguments->requests;
  CURL **handles = grown(NULL, count, sizeof(CURL *));
  long started = 0;
  for (size_t index = 0; index < count; index++) {
    handles[index] = easy_new(arguments);
    check_easy(curl_easy_setopt(handles[index], CURLOPT_URL, arguments->url), "URL");
    check_easy(curl_easy_setopt(handles[index], CURLOPT_PREREQFUNCTION, in_flight), "PREREQFUNCTION");
    check_easy(curl_easy_setopt(handles[index], CURLOPT_PREREQDATA, &started), "PREREQDATA");
    loop_add(&loop, handles[index]);
  }
  while (started < arguments->requests) loop_turn(&loop, ended_too_early, NULL);

  struct result result = {.requests = arguments->requests, .begin = stamp_now()};
  for (size_t index = 0; index < count; index++) {
    loop_remove(&loop, handles[index]);
    curl_easy_cleanup(handles[index]);
  }
  result.end = stamp_now();
  free(handles);

  struct pool *pool = pool_new(&loop, arguments, 1);
  (void)pool_fetch(pool, arguments->url2, 1);
  pool_free(pool);
  loop_close(&loop);
  return result;
}
