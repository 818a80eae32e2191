// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "CLoopback.h"

struct cloopback_thread {
  pthread_t thread;
};

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

cloopback_thread *cloopback_thread_start(size_t stack_size, const void *tag, void (*body)(void *), void *context) {
  cloopback_thread *made = malloc(sizeof *made);
  struct start *start = malloc(sizeof *start);
  pthread_attr_t attributes;
  int problem = ENOMEM;
  if (made && start && pthread_attr_init(&attributes) == 0) {
    *start = (struct start){tag, body, context};
    pthread_attr_setstacksize(&attributes, stack_size);
    problem = pthread_create(&made->thread, &attributes, run, start);
    pthread_attr_destroy(&attributes);
  }
  if (problem == 0) return made;
  free(made);
  free(start);
  errno = problem;
  return NULL;
}

void cloopback_thread_join(cloopback_thread *thread) {
  pthread_join(thread->thread, NULL);
  free(thread);
}

void cloopback_thread_detach(cloopback_thread *thread) {
  pthread_detach(thread->thread);
  free(thread);
}

// The process must not be killed because a peer has closed its connection. On threads that we did not start, SIGPIPE is
// blocked during a write, and a pending one is consumed.

bool cloopback_hold_pipe_signal(void) {
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  return pthread_sigmask(SIG_BLOCK, &pipe, &before) == 0 && !sigismember(&before, SIGPIPE);
}

void cloopback_release_pipe_signal(bool held) {
  if (!held) return;
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  struct timespec now = {0, 0};
  while (sigtimedwait(&pipe, NULL, &now) == SIGPIPE) continue;
  pthread_sigmask(SIG_UNBLOCK, &pipe, NULL);
}
