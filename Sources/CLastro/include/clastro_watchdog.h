// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>

#pragma clang assume_nonnull begin

// A thread that looks after calls which read sockets for as long as there is something to read. Where one call computes
// longer than CLASTRO_CALL_MILLISECONDS, the socket that it reads is shut down. It sleeps while there is no call.
#define CLASTRO_CALL_MILLISECONDS 250

typedef struct clastro_watchdog clastro_watchdog;

// Made by the thread whose calls are looked after, which also makes all calls below. NULL when there is no thread to be
// had.
clastro_watchdog *_Nullable clastro_watchdog_new(void);
// Ends the thread, and waits for that.
void clastro_watchdog_free(clastro_watchdog *dog);

// Sockets that may be shut down. One has to be removed before it is closed.
void clastro_watchdog_add(clastro_watchdog *dog, int socket);
void clastro_watchdog_remove(clastro_watchdog *dog, int socket);

// Around a call. The end tells the socket that was shut down meanwhile, or -1.
void clastro_watchdog_begin(clastro_watchdog *dog);
int clastro_watchdog_end(clastro_watchdog *dog);

#pragma clang assume_nonnull end
