// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "CLoopback.h"

// The length of the accept queue. The kernel lowers it to net.core.somaxconn.
static const int backlog = 4096;

static int listen_on(int descriptor, const struct sockaddr *address, socklen_t length) {
  if (descriptor < 0) return -1;
  if (bind(descriptor, address, length) == 0 && listen(descriptor, backlog) == 0) return descriptor;
  int reason = errno;
  close(descriptor);
  errno = reason;
  return -1;
}

int cloopback_listen_tcp(uint16_t *port) {
  int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int on = 1;
  if (descriptor >= 0) setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(*port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  descriptor = listen_on(descriptor, (const struct sockaddr *)&address, sizeof address);
  if (descriptor < 0) return -1;
  socklen_t length = sizeof address;
  getsockname(descriptor, (struct sockaddr *)&address, &length);
  *port = ntohs(address.sin_port);
  return descriptor;
}

void cloopback_limit_receive_buffers(int listener, int bytes) {
  setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

// Returns false, with ENAMETOOLONG, for a path that does not fit.
static bool set_path(struct sockaddr_un *address, const char *path) {
  if (strlen(path) >= sizeof address->sun_path) {
    errno = ENAMETOOLONG;
    return false;
  }
  strcpy(address->sun_path, path);
  return true;
}

int cloopback_listen_unix(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (!set_path(&address, path)) return -1;
  int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  return listen_on(descriptor, (const struct sockaddr *)&address, sizeof address);
}

int cloopback_accept(int listener) {
  int descriptor;
  do {
    descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  } while (descriptor < 0 && errno == EINTR);
  int on = 1;
  if (descriptor >= 0) setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return descriptor;
}

bool cloopback_pipe(int *read_end, int *write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  *read_end = ends[0];
  *write_end = ends[1];
  return true;
}

ssize_t cloopback_receive(int descriptor, void *buffer, size_t count) {
  ssize_t got;
  do {
    got = recv(descriptor, buffer, count, 0);
  } while (got < 0 && errno == EINTR);
  if (got >= 0) return got;
  return errno == ECONNRESET ? CLOOPBACK_READ_RESET : CLOOPBACK_READ_FAILED;
}

static int connect_to(int descriptor, const struct sockaddr *address, socklen_t length) {
  if (descriptor < 0) return -1;
  int code;
  do {
    // Linux goes on with a TCP connection whose call a signal interrupted, and a second call waits for it.
    code = connect(descriptor, address, length);
  } while (code != 0 && errno == EINTR);
  if (code == 0) return descriptor;
  int reason = errno;
  close(descriptor);
  errno = reason;
  return -1;
}

int cloopback_connect_tcp(uint16_t port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return connect_to(descriptor, (const struct sockaddr *)&address, sizeof address);
}

int cloopback_connect_unix(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (!set_path(&address, path)) return -1;
  int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return connect_to(descriptor, (const struct sockaddr *)&address, sizeof address);
}

ssize_t cloopback_send(int descriptor, const void *buffer, size_t count) {
  size_t sent = 0;
  while (sent < count) {
    ssize_t put = send(descriptor, (const char *)buffer + sent, count - sent, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return -1;
    sent += (size_t)put;
  }
  return (ssize_t)sent;
}

void cloopback_limit_sending(int descriptor, int milliseconds) {
  struct timeval limit = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

void cloopback_shutdown(int descriptor, bool both) { shutdown(descriptor, both ? SHUT_RDWR : SHUT_WR); }

void cloopback_arm_reset(int descriptor) {
  struct linger linger = {.l_onoff = 1, .l_linger = 0};
  setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

int cloopback_unacknowledged(int descriptor) {
  int count = 0;
  return ioctl(descriptor, SIOCOUTQ, &count) == 0 ? count : 0;
}

void cloopback_drain(int descriptor) {
  char scratch[4096];
  // The loop is bounded, so that a peer that never stops sending cannot block the closing thread.
  for (int round = 0; round < 4096; round++) {
    if (recv(descriptor, scratch, sizeof scratch, MSG_DONTWAIT) <= 0) return;
  }
}

void cloopback_close(int descriptor) { close(descriptor); }

void cloopback_unlink(const char *path) { unlink(path); }

static int64_t now_milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int cloopback_wait(int first, int second, int peer, int milliseconds) {
  struct pollfd set[3] = {
    {.fd = first, .events = POLLIN}, {.fd = second, .events = POLLIN}, {.fd = peer, .events = POLLRDHUP}};
  int64_t end = now_milliseconds() + milliseconds;
  int left = milliseconds;
  int ready;
  while ((ready = poll(set, 3, left)) < 0 && errno == EINTR) {
    if (milliseconds < 0) continue;
    int64_t rest = end - now_milliseconds();
    left = rest > 0 ? (int)rest : 0;
  }
  if (ready <= 0) return 0;
  return (set[0].revents ? CLOOPBACK_WAIT_FIRST : 0) | (set[1].revents ? CLOOPBACK_WAIT_SECOND : 0)
         | (set[2].revents ? CLOOPBACK_WAIT_HANGUP : 0);
}
