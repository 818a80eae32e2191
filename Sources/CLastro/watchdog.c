// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "CLastro.h"

struct clastro_watchdog {
  pthread_t thread;
  // Time that the looked-after thread computed: what else runs on the machine, or stops this process, does not count.
  clockid_t computed;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  // All below only with the mutex held.
  bool is_over, is_sleeping;
  // The number of the call that is being made; 0 for none.
  uint64_t call, latest_call;
  int ended;
  int *sockets;
  // What each had unread when it was last looked at.
  int *unread;
  size_t count, capacity;
};

static int64_t milliseconds_of(clockid_t clock) {
  struct timespec time = {0};
  clock_gettime(clock, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void wait_some(clastro_watchdog *dog, long milliseconds) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_nsec += milliseconds * 1000000;
  end.tv_sec += end.tv_nsec / 1000000000;
  end.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&dog->changed, &dog->mutex, &end);
}

static void look(clastro_watchdog *dog) {
  for (size_t index = 0; index < dog->count; index++) {
    if (ioctl(dog->sockets[index], FIONREAD, &dog->unread[index])) dog->unread[index] = 0;
  }
}

// The socket that is read now: only the watched thread can make its unread bytes fewer.
static int socket_read(clastro_watchdog *dog) {
  for (size_t index = 0; index < dog->count; index++) {
    int unread = 0, before = dog->unread[index];
    if (!ioctl(dog->sockets[index], FIONREAD, &unread) && unread < before) return dog->sockets[index];
  }
  return -1;
}

static void watch_call(clastro_watchdog *dog) {
  uint64_t call = dog->call;
  int64_t start = milliseconds_of(dog->computed);
  while (!dog->is_over && dog->call == call) {
    bool is_late = milliseconds_of(dog->computed) - start >= CLASTRO_CALL_MILLISECONDS;
    if (is_late) look(dog);
    wait_some(dog, is_late ? 1 : 50);
    if (!is_late || dog->call != call || dog->is_over) continue;
    int socket = socket_read(dog);
    if (socket < 0) continue;
    shutdown(socket, SHUT_RDWR);
    dog->ended = socket;
  }
}

static void *run(void *argument) {
  clastro_watchdog *dog = argument;
  clastro_name_thread("lastro-watchdog");
  pthread_mutex_lock(&dog->mutex);
  while (!dog->is_over) {
    if (dog->call) {
      watch_call(dog);
    } else {
      dog->is_sleeping = true;
      pthread_cond_wait(&dog->changed, &dog->mutex);
      dog->is_sleeping = false;
    }
  }
  pthread_mutex_unlock(&dog->mutex);
  return NULL;
}

clastro_watchdog *clastro_watchdog_new(void) {
  clastro_watchdog *dog = calloc(1, sizeof *dog);
  if (!dog) return NULL;
  dog->ended = -1;
  pthread_mutex_init(&dog->mutex, NULL);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&dog->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  if (!pthread_getcpuclockid(pthread_self(), &dog->computed) && !pthread_create(&dog->thread, NULL, run, dog)) return dog;
  pthread_cond_destroy(&dog->changed);
  pthread_mutex_destroy(&dog->mutex);
  free(dog);
  return NULL;
}

void clastro_watchdog_free(clastro_watchdog *dog) {
  pthread_mutex_lock(&dog->mutex);
  dog->is_over = true;
  pthread_cond_signal(&dog->changed);
  pthread_mutex_unlock(&dog->mutex);
  pthread_join(dog->thread, NULL);
  pthread_cond_destroy(&dog->changed);
  pthread_mutex_destroy(&dog->mutex);
  free(dog->sockets);
  free(dog->unread);
  free(dog);
}

static bool grow(clastro_watchdog *dog) {
  if (dog->count < dog->capacity) return true;
  size_t capacity = dog->capacity ? dog->capacity * 2 : 16;
  int *sockets = realloc(dog->sockets, capacity * sizeof *sockets);
  if (sockets) dog->sockets = sockets;
  int *unread = realloc(dog->unread, capacity * sizeof *unread);
  if (unread) dog->unread = unread;
  if (!sockets || !unread) return false;
  dog->capacity = capacity;
  return true;
}

void clastro_watchdog_add(clastro_watchdog *dog, int socket) {
  pthread_mutex_lock(&dog->mutex);
  if (grow(dog)) {
    dog->unread[dog->count] = 0;
    dog->sockets[dog->count++] = socket;
  }
  pthread_mutex_unlock(&dog->mutex);
}

void clastro_watchdog_remove(clastro_watchdog *dog, int socket) {
  pthread_mutex_lock(&dog->mutex);
  for (size_t index = 0; index < dog->count; index++) {
    if (dog->sockets[index] != socket) continue;
    dog->count--;
    dog->sockets[index] = dog->sockets[dog->count];
    dog->unread[index] = dog->unread[dog->count];
    break;
  }
  pthread_mutex_unlock(&dog->mutex);
}

void clastro_watchdog_begin(clastro_watchdog *dog) {
  pthread_mutex_lock(&dog->mutex);
  dog->call = ++dog->latest_call;
  dog->ended = -1;
  if (dog->is_sleeping) pthread_cond_signal(&dog->changed);
  pthread_mutex_unlock(&dog->mutex);
}

int clastro_watchdog_end(clastro_watchdog *dog) {
  pthread_mutex_lock(&dog->mutex);
  dog->call = 0;
  int ended = dog->ended;
  pthread_mutex_unlock(&dog->mutex);
  return ended;
}
