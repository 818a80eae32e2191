// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLastro.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void clastro_install_dial_callbacks(
  CURL *easy, void *owner, curl_write_callback discard, curl_prereq_callback prereq) {
  curl_easy_setopt(easy, CURLOPT_PRIVATE, owner);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, discard);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, prereq);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, owner);
}

// Parses a numeric address and adds a port. Returns false if one of them is not numeric.
static bool parse(const char *text, const char *port, struct sockaddr_storage *out, socklen_t *length) {
  struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *list = NULL;
  if (getaddrinfo(text, port, &hints, &list)) return false;
  memcpy(out, list->ai_addr, list->ai_addrlen);
  *length = list->ai_addrlen;
  freeaddrinfo(list);
  return true;
}

static bool bind_to(int descriptor, const char *local) {
  struct sockaddr_storage address;
  socklen_t length;
  if (parse(local, "0", &address, &length)) return bind(descriptor, (struct sockaddr *)&address, length) == 0;
  if (strlen(local) >= IFNAMSIZ) {
    errno = ENODEV;
    return false;
  }
  return setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, local, (socklen_t)strlen(local) + 1) == 0;
}

int clastro_open_datagrams(const char *text, const char *port, const char *local) {
  struct sockaddr_storage address;
  socklen_t length;
  if (!parse(text, port, &address, &length)) {
    errno = EINVAL;
    return -1;
  }
  int descriptor = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return -1;
  if ((!local || bind_to(descriptor, local)) && connect(descriptor, (struct sockaddr *)&address, length) == 0) {
    return descriptor;
  }
  int code = errno;
  close(descriptor);
  errno = code;
  return -1;
}

int clastro_local_port(int socket) {
  struct sockaddr_in6 address;
  socklen_t length = sizeof address;
  if (getsockname(socket, (struct sockaddr *)&address, &length)) return 0;
  // IPv4 has its port at the same place.
  _Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port), "ports");
  return ntohs(address.sin6_port);
}
