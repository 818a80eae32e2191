// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "CLoopback.h"

struct start {
  const void *tag;
  void (*body)(void *);
  void *context;
};

static _Thread_local const void *current_tag;

const void *cloopback_thread_tag(void) { return current_tag; }

static void *run(void *argument) {
  struct start start = *(struct start *)argument;
  free(argument);
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, NULL);
  pthread_setname_np(pthread_self(), "loopback");
  current_tag = start.tag;
  start.body(start.context);
  return NULL;
}

bool cloopback_thread_start(pthread_t *thread, size_t stack_size, const void *tag, void (*body)(void *),
                            void *context) {
  struct start *start = malloc(sizeof *start);
  pthread_attr_t attributes;
  bool started = false;
  if (start && pthread_attr_init(&attributes) == 0) {
    *start = (struct start){tag, body, context};
    pthread_attr_setstacksize(&attributes, stack_size);
    started = pthread_create(thread, &attributes, run, start) == 0;
    pthread_attr_destroy(&attributes);
  }
  if (!started) free(start);
  return started;
}
