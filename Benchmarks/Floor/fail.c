// SPDX-License-Identifier: Apache-2.0
#include "fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)fputs("floor: ", stderr);
  (void)vfprintf(stderr, format, arguments);
  (void)fputc('\n', stderr);
  va_end(arguments);
  exit(EXIT_FAILED);
}

void fail_errno(const char *what) { fail("%s: %s", what, strerror(errno)); }

void check_easy(CURLcode code, const char *what) {
  if (code != CURLE_OK) fail("%s: %s", what, curl_easy_strerror(code));
}

void check_multi(CURLMcode code, const char *what) {
  if (code != CURLM_OK) fail("%s: %s", what, curl_multi_strerror(code));
}

void *grown(void *memory, size_t count, size_t size) {
  if (size != 0 && count > SIZE_MAX / size) fail("too large: %zu × %zu bytes", count, size);
  void *result = realloc(memory, count * size);
  if (result == NULL && count * size != 0) fail_errno("realloc");
  return result;
}
