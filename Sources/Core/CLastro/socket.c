// SPDX-License-Identifier: Apache-2.0
#include "clastro_socket.h"

// glibc's <netinet/tcp.h> has a shorter `struct tcp_info` and cannot be included together with this header.
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

void clastro_limit_unsent(int socket) {
  int bytes = CLASTRO_UNSENT_BYTES;
  setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
}

bool clastro_read_delivery(int socket, clastro_delivery *delivery) {
  int queued = 0;
  if (ioctl(socket, SIOCOUTQ, &queued) != 0 || queued < 0) return false;
  *delivery = (clastro_delivery){.queued = (uint32_t)queued, .is_held = true};
  struct tcp_info info;
  memset(&info, 0, sizeof info);
  socklen_t length = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return true;
  // Kernels before 4.6 fill in fewer fields.
  if (length < offsetof(struct tcp_info, tcpi_notsent_bytes) + sizeof info.tcpi_notsent_bytes) return true;
  delivery->acknowledged = info.tcpi_bytes_acked;
  delivery->acknowledged_milliseconds_ago = info.tcpi_last_ack_recv;
  delivery->is_held = info.tcpi_notsent_bytes > 0 && info.tcpi_unacked == 0;
  return true;
}
