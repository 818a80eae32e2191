// SPDX-License-Identifier: Apache-2.0
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "loop.h"

struct stamp stamp_now(void) {
  struct stamp stamp = {.wall_ns = monotonic_ns()};
  if (getrusage(RUSAGE_SELF, &stamp.usage) != 0) fail_errno("getrusage");
  return stamp;
}

long memory_kib(const char *key) {
  FILE *file = fopen("/proc/self/status", "r");
  if (file == NULL) fail_errno("/proc/self/status");
  char line[256];
  long value = -1;
  while (value < 0 && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, key, strlen(key)) == 0) value = strtol(line + strlen(key) + 1, NULL, 10);
  }
  if (fclose(file) != 0) fail_errno("/proc/self/status");
  if (value < 0) fail("/proc/self/status has no %s", key);
  return value;
}

static long long elapsed_us(struct timeval begin, struct timeval end) {
  return (long long)(end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_usec - begin.tv_usec);
}

void print_result(const char *scenario, const struct result *result, long idle_rss_kib) {
  const struct stamp *begin = &result->begin, *end = &result->end;
  int written = printf(
    "{\"client\":\"floor\",\"scenario\":\"%s\",\"requests\":%ld,\"bytes\":%lld,\"wall_ns\":%lld,\"user_us\":%lld,"
    "\"system_us\":%lld,\"peak_rss_kib\":%ld,\"idle_rss_kib\":%ld}\n",
    scenario, result->requests, result->bytes, (long long)(end->wall_ns - begin->wall_ns),
    elapsed_us(begin->usage.ru_utime, end->usage.ru_utime), elapsed_us(begin->usage.ru_stime, end->usage.ru_stime),
    memory_kib("VmHWM"), idle_rss_kib);
  if (written < 0 || fflush(stdout) != 0) fail_errno("standard output");
}
