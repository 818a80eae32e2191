// SPDX-License-Identifier: Apache-2.0
#ifndef CLASTRO_LOOP_H
#define CLASTRO_LOOP_H

// The system calls of an event loop that Swift's Glibc module does not have.
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <stdbool.h>

#pragma clang assume_nonnull begin

/// Sets the name of the calling thread, at most 15 bytes, for debuggers and `ps`.
void clastro_name_thread(const char *name);

/// Marks the calling thread as the thread of an event loop.
void clastro_mark_loop_thread(void);
bool clastro_is_loop_thread(void);

#pragma clang assume_nonnull end

#endif
