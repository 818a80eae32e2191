// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// The limit on bytes that a TCP socket accepts before they can be sent. Otherwise the kernel would buffer up to 4 MiB.
// At 150 KB/s that takes half a minute, in which a PING waits in the buffer and a completed write says nothing about
// the peer. 128 KiB last longer than a turn of the loop at 10 Gbit/s, and bytes in flight are not limited.
#define CLASTRO_UNSENT_BYTES (128 * 1024)

// Limits the unsent bytes of a TCP socket (TCP_NOTSENT_LOWAT).
void clastro_limit_unsent(int socket);

// The state of a socket's outgoing bytes.
typedef struct {
  // The number of bytes that the peer's kernel has acknowledged since the connection was made. 0 if the socket is not
  // TCP.
  uint64_t acknowledged;
  // The number of bytes that were written and not yet acknowledged.
  uint32_t queued;
  // The number of milliseconds since the last acknowledgement.
  uint32_t acknowledged_milliseconds_ago;
  // Whether `acknowledged_milliseconds_ago` says nothing about the bytes, because the peer's window is closed and it
  // acknowledges probes, or because the socket is not TCP.
  bool is_held;
} clastro_delivery;

// Reads the state from the kernel. Returns false if the kernel does not report it.
bool clastro_read_delivery(int socket, clastro_delivery *delivery);

#pragma clang assume_nonnull end
