// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLastro.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// During curl_global_init, libcurl reads this environment variable and opens the file that it names for appending.
static char key_log_name[] = "SSLKEYLOGFILE=";

// Exchanges an entry of the environment for another. The variable is neither removed nor set, because both would move
// memory that other threads may be reading.
static void exchange_entry(const char *from, char *to) {
  for (char **entry = environ; entry && *entry; entry++) {
    if (*entry == from) __atomic_store_n(entry, to, __ATOMIC_RELEASE);
  }
}

CURLcode clastro_global_init(void) {
  char *value = getenv("SSLKEYLOGFILE");
  char *entry = value ? value - strlen(key_log_name) : NULL;
  if (entry) exchange_entry(entry, key_log_name);
  CURLcode code = curl_global_init(CURL_GLOBAL_ALL);
  if (entry) exchange_entry(key_log_name, entry);
  return code;
}

CURLcode clastro_set_long(CURL *easy, CURLoption option, long value) { return curl_easy_setopt(easy, option, value); }

CURLcode clastro_set_ptr(CURL *easy, CURLoption option, const void *value) {
  return curl_easy_setopt(easy, option, value);
}

void clastro_get(CURL *easy, CURLINFO info, void *value) { curl_easy_getinfo(easy, info, value); }

void clastro_install_progress(CURL *easy, void *owner, curl_xferinfo_callback step) {
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, step);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, owner);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
}

CURLSH *clastro_make_session_share(void) {
  CURLSH *share = curl_share_init();
  if (!share || curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) == CURLSHE_OK) return share;
  curl_share_cleanup(share);
  return NULL;
}

curl_socket_t clastro_make_socket(const struct curl_sockaddr *address) {
  int made = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (made >= 0 && address->socktype == SOCK_STREAM && address->family != AF_UNIX) clastro_limit_unsent(made);
  return made;
}

void clastro_install_socket_keeper(
  CURL *easy, void *opener, curl_opensocket_callback open, void *keeper, curl_closesocket_callback close) {
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, opener);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, keeper);
}

int clastro_read_address(const struct curl_sockaddr *address, uint8_t *bytes, int *port) {
  // The field `addr` is declared smaller than a `sockaddr_in6`, but it is the last field and libcurl allocates more
  // room for it.
  const void *raw = &address->addr;
  if (address->family == AF_INET) {
    struct sockaddr_in four;
    memcpy(&four, raw, sizeof four);
    memcpy(bytes, &four.sin_addr, 4);
    *port = ntohs(four.sin_port);
    return 4;
  }
  if (address->family == AF_INET6) {
    struct sockaddr_in6 six;
    memcpy(&six, raw, sizeof six);
    memcpy(bytes, &six.sin6_addr, 16);
    *port = ntohs(six.sin6_port);
    return 16;
  }
  return 0;
}

void clastro_multi_install(
  CURLM *multi, void *loop, curl_socket_callback socket_callback, curl_multi_timer_callback timer_callback) {
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket_callback);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, loop);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer_callback);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, loop);
}

curl_version_info_data *clastro_version(void) { return curl_version_info(CURLVERSION_NOW); }
