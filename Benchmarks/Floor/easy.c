// SPDX-License-Identifier: Apache-2.0
#include "easy.h"

#include "fail.h"

CURL *easy_new(const struct arguments *arguments) {
  CURL *easy = curl_easy_init();
  if (easy == NULL) fail("curl_easy_init");
  check_easy(curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L), "NOSIGNAL");
  // An empty proxy saves the look into the environment that each transfer would begin with.
  check_easy(curl_easy_setopt(easy, CURLOPT_PROXY, ""), "PROXY");
  if (arguments->ca != NULL) {
    check_easy(curl_easy_setopt(easy, CURLOPT_CAINFO, arguments->ca), "CAINFO");
    // With a directory of roots libcurl would not cache the store: it would read the file for each connection.
    check_easy(curl_easy_setopt(easy, CURLOPT_CAPATH, NULL), "CAPATH");
  }
  long version = arguments->http == 2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1;
  check_easy(curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, version), "HTTP_VERSION");
  if (arguments->http == 2) check_easy(curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L), "PIPEWAIT");
  return easy;
}

void easy_check(CURL *easy, CURLcode result) {
  check_easy(result, "transfer");
  long status = 0;
  check_easy(curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status), "RESPONSE_CODE");
  if (status != 200) fail("status %ld", status);
}
