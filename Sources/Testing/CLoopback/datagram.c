// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "CLoopback.h"

static struct sockaddr_in loopback(uint16_t port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

static int open_on(uint16_t port) {
  int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
  if (descriptor < 0) return -1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in address = loopback(port);
  if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
  int reason = errno;
  close(descriptor);
  errno = reason;
  return -1;
}

int cloopback_open_datagrams(uint16_t *port) {
  int first = open_on(0);
  if (first < 0) return -1;
  struct sockaddr_in address;
  socklen_t length = sizeof address;
  getsockname(first, (struct sockaddr *)&address, &length);
  *port = ntohs(address.sin_port);
  // If a port was requested by number, the socket keeps it when it is disconnected. A port that the kernel chose is
  // lost.
  int second = open_on(*port);
  close(first);
  return second;
}

ssize_t cloopback_receive_datagram(int descriptor, void *buffer, size_t count, uint16_t *from) {
  struct sockaddr_in address;
  socklen_t length = sizeof address;
  ssize_t got = recvfrom(descriptor, buffer, count, MSG_DONTWAIT, (struct sockaddr *)&address, &length);
  if (got >= 0) *from = ntohs(address.sin_port);
  return got;
}

bool cloopback_send_datagram(int descriptor, const void *buffer, size_t count, uint16_t to) {
  struct sockaddr_in address = loopback(to);
  return sendto(descriptor, buffer, count, MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof address) == (ssize_t)count;
}

bool cloopback_refuse_datagrams(int descriptor, bool refuses) {
  struct sockaddr_in address;
  socklen_t length = sizeof address;
  if (refuses) {
    // Make the socket receive only from itself. The kernel then tells every other sender that the port is closed.
    return getsockname(descriptor, (struct sockaddr *)&address, &length) == 0 &&
           connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0;
  }
  struct sockaddr nobody = {.sa_family = AF_UNSPEC};
  return connect(descriptor, &nobody, sizeof nobody) == 0;
}
