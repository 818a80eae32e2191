// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLastroHTTP2.h"

#include <pthread.h>

static _Thread_local bool is_loop;

void clastro_mark_loop_thread(void) { is_loop = true; }

bool clastro_is_loop_thread(void) { return is_loop; }

void clastro_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }
