// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>
#include <sys/resource.h>

// Wall time, and the CPU time of the whole process.
struct stamp {
  int64_t wall_ns;
  struct rusage usage;
};

struct result {
  long requests;
  long long bytes;
  struct stamp begin;
  struct stamp end;
};

struct stamp stamp_now(void);

// Resident memory now (`VmRSS`) or at its highest (`VmHWM`), from /proc/self/status.
long memory_kib(const char *key);

// The one line on standard output.
void print_result(const char *scenario, const struct result *result, long idle_rss_kib);
