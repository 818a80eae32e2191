// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "clastro_loop.h"

#include <pthread.h>

void clastro_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }
