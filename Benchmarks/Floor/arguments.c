// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

static long long parse_number(const char *key, const char *text, long long least) {
  char *end = NULL;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || number < least) {
    fail("%s=%s: not a number from %lld on", key, text, least);
  }
  return number;
}

static void set(struct arguments *arguments, const char *key, const char *value) {
  if (strcmp(key, "url") == 0) {
    arguments->url = value;
  } else if (strcmp(key, "url2") == 0) {
    arguments->url2 = value;
  } else if (strcmp(key, "ca") == 0) {
    arguments->ca = value;
  } else if (strcmp(key, "file") == 0) {
    arguments->file = value;
  } else if (strcmp(key, "concurrency") == 0) {
    arguments->concurrency = (long)parse_number(key, value, 1);
  } else if (strcmp(key, "requests") == 0) {
    arguments->requests = (long)parse_number(key, value, 1);
  } else if (strcmp(key, "warmup") == 0) {
    arguments->warmup = (long)parse_number(key, value, 0);
  } else if (strcmp(key, "size") == 0) {
    arguments->size = parse_number(key, value, 0);
  } else if (strcmp(key, "http") == 0) {
    arguments->http = (long)parse_number(key, value, 1);
  } else if (strcmp(key, "connections") == 0) {
    arguments->connections = (long)parse_number(key, value, 1);
  } else if (strcmp(key, "hosts") == 0) {
    arguments->hosts = (long)parse_number(key, value, 1);
  } else {
    fail("%s=: unknown here", key);
  }
}

struct arguments parse_arguments(int count, char **values) {
  if (count < 2) fail("usage: floor SCENARIO key=value …");
  struct arguments arguments = {
    .scenario = values[1], .concurrency = 1, .requests = 1, .warmup = -1, .http = 1, .hosts = 1000};
  for (int index = 2; index < count; index++) {
    char *equals = strchr(values[index], '=');
    if (equals == NULL) fail("%s: not key=value", values[index]);
    *equals = '\0';
    set(&arguments, values[index], equals + 1);
  }
  if (arguments.url == NULL) fail("url= is missing");
  if (arguments.http > 2) fail("http=%ld: 1 or 2", arguments.http);
  bool is_large = strcmp(arguments.scenario, "download") == 0 || strcmp(arguments.scenario, "upload") == 0;
  if (arguments.warmup < 0) arguments.warmup = is_large ? 1 : arguments.concurrency > 200 ? arguments.concurrency : 200;
  return arguments;
}
