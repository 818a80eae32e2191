// SPDX-License-Identifier: Apache-2.0
#pragma once

// The key=value arguments that all benchmark programs share; a string that was not given is NULL, a number its default.
struct arguments {
  const char *scenario;
  const char *url;
  const char *url2;
  const char *ca;
  const char *file;
  long concurrency;
  long requests;
  long warmup;
  long long size;
  long http;
  long connections;
  // Addresses of the idle connections.
  long hosts;
};

struct arguments parse_arguments(int count, char **values);
