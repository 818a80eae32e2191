// SPDX-License-Identifier: Apache-2.0
// The floor of the benchmarks: what a plain C program on libcurl needs for the same work.
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "scenarios.h"

static const struct {
  const char *name;
  struct result (*run)(const struct arguments *arguments);
} scenarios[] = {
  {"fetch", run_fetch}, {"download", run_download}, {"upload", run_upload}, {"handshakes", run_handshakes},
  {"idle", run_idle},   {"cancel", run_cancel},
};

int main(int count, char **values) {
  struct arguments arguments = parse_arguments(count, values);
  check_easy(curl_global_init(CURL_GLOBAL_DEFAULT), "curl_global_init");
  long idle_rss_kib = memory_kib("VmRSS");
  for (size_t index = 0; index < sizeof scenarios / sizeof *scenarios; index++) {
    if (strcmp(arguments.scenario, scenarios[index].name) != 0) continue;
    struct result result = scenarios[index].run(&arguments);
    print_result(arguments.scenario, &result, idle_rss_kib);
    curl_global_cleanup();
    return EXIT_SUCCESS;
  }
  (void)fprintf(stderr, "floor: no scenario %s\n", arguments.scenario);
  return EXIT_CANNOT;
}
