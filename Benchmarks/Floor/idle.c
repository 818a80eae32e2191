// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "loop.h"
#include "pool.h"
#include "scenarios.h"

static long open_sockets(void) {
  DIR *folder = opendir("/proc/self/fd");
  if (folder == NULL) fail_errno("/proc/self/fd");
  long count = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    char target[8] = "";
    if (readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1) < 0 && errno != EINVAL) fail_errno("fd");
    if (strncmp(target, "socket:", 7) == 0) count++;
  }
  if (closedir(folder) != 0) fail_errno("/proc/self/fd");
  return count;
}

static void url_of_host(const char *template, int host, char *url, size_t capacity) {
  const char *mark = strstr(template, "{n}");
  if (mark == NULL) fail("url= has no {n}");
  int length = snprintf(
    url, capacity, "%.*s127.1.%d.%d%s", (int)(mark - template), template, host / 250, host % 250 + 1, mark + 3);
  if (length < 0 || (size_t)length >= capacity) fail("url= is too long");
}

// All connections to one address are made at the same time: one that is free would be used again.
static void open_connections(struct loop *loop, const struct arguments *arguments) {
  long connections = arguments->connections, hosts = arguments->hosts;
  struct pool *pool = pool_new(loop, arguments, (connections + hosts - 1) / hosts);
  for (int host = 0; host < hosts && host < connections; host++) {
    char url[256];
    url_of_host(arguments->url, host, url, sizeof url);
    (void)pool_fetch(pool, url, connections / hosts + (host < connections % hosts));
  }
  pool_free(pool);
}

struct result run_idle(const struct arguments *arguments) {
  if (arguments->url2 == NULL || arguments->connections == 0) fail("idle needs url2= and connections=");
  struct loop loop;
  loop_open(&loop, arguments->http, arguments->connections + arguments->concurrency);
  open_connections(&loop, arguments);
  struct pool *pool = pool_new(&loop, arguments, arguments->concurrency);
  (void)pool_fetch(pool, arguments->url2, arguments->warmup);
  struct result result = {.requests = arguments->requests, .begin = stamp_now()};
  result.bytes = pool_fetch(pool, arguments->url2, arguments->requests);
  result.end = stamp_now();
  long left = open_sockets();
  if (left < arguments->connections) fail("%ld sockets are open, not %ld", left, arguments->connections);
  pool_free(pool);
  loop_close(&loop);
  return result;
}
