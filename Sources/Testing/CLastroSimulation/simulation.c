// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLastroSimulation.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#define SWIFT __attribute__((swiftcall))
// A program that links libdispatch statically keeps its functions; `clsimulation_enter` then refuses.
// What replaces a function is not instrumented: a thread that ends calls it after ThreadSanitizer has forgotten the thread.
#define REPLACES __attribute__((weak)) __attribute__((disable_sanitizer_instrumentation))

// MARK: Swift's concurrency runtime, from swift/Runtime/Concurrency.h of Swift 6

typedef struct swift_job swift_job;
typedef SWIFT void (*enqueue_original)(swift_job *);
typedef SWIFT void (*delay_original)(unsigned long long, swift_job *);
typedef SWIFT void (*deadline_original)(long long, long long, long long, long long, int, swift_job *);

extern SWIFT void (*swift_task_enqueueGlobal_hook)(swift_job *, enqueue_original);
extern SWIFT void (*swift_task_enqueueMainExecutor_hook)(swift_job *, enqueue_original);
extern SWIFT void (*swift_task_enqueueGlobalWithDelay_hook)(unsigned long long, swift_job *, delay_original);
extern SWIFT void (*swift_task_enqueueGlobalWithDeadline_hook)(
    long long, long long, long long, long long, int, swift_job *, deadline_original);
extern SWIFT void swift_job_run(swift_job *, void *, void *);
extern uint64_t swift_task_getJobTaskId(swift_job *);
extern struct {
  uint64_t seed0, seed1;
  bool deterministic;
} _swift_stdlib_Hashing_parameters;

// MARK: State

/// The simulation that the thread runs.
static __thread const struct clsimulation_world *current;
static __thread int64_t monotonic, realtime;
static __thread uint64_t generator;
static struct clsimulation_world only;
static atomic_bool is_running, was_entered;
static _Atomic(enum clsimulation_origin (*)(uint64_t)) origin_of;

// The functions that this file replaces.
static int (*next_clock_gettime)(clockid_t, struct timespec *);
static long (*next_syscall)(long, ...);
static void (*next_async)(void *, void *, void (*)(void *));
static void (*next_after)(uint64_t, void *, void *, void (*)(void *));
static void (*next_uuid)(unsigned char *);

static void find_next(void) {
  next_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  next_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  next_async = (void (*)(void *, void *, void (*)(void *)))dlsym(RTLD_NEXT, "dispatch_async_f");
  next_after = (void (*)(uint64_t, void *, void *, void (*)(void *)))dlsym(RTLD_NEXT, "dispatch_after_f");
  next_uuid = (void (*)(unsigned char *))dlsym(RTLD_NEXT, "_foundation_uuid_generate_random");
}

// Before `main`, when no table of Swift has been filled yet: tables of different seeds do not mix.
__attribute__((constructor)) static void prepare(void) {
  find_next();
  _swift_stdlib_Hashing_parameters.seed0 = 0;
  _swift_stdlib_Hashing_parameters.seed1 = 0;
  _swift_stdlib_Hashing_parameters.deterministic = true;
}

// MARK: Jobs

void clsimulation_run(void *job) { swift_job_run(job, NULL, NULL); }

uint64_t clsimulation_task(void *job) { return swift_task_getJobTaskId(job); }

void clsimulation_set_origin(enum clsimulation_origin (*origin)(uint64_t)) { atomic_store(&origin_of, origin); }

bool clsimulation_was_entered(void) { return atomic_load(&was_entered); }

/// Takes a job of the simulation. Returns false on other threads, which then do with it what they always do.
static bool take(void *job) {
  if (current) return current->enqueue(current->context, job, NULL);
  enum clsimulation_origin (*origin)(uint64_t) = atomic_load_explicit(&origin_of, memory_order_acquire);
  enum clsimulation_origin found = origin ? origin(swift_task_getJobTaskId(job)) : CLSIMULATION_NONE;
  if (found == CLSIMULATION_RUNNING) atomic_store(&was_entered, true);
  return found != CLSIMULATION_NONE;
}

static SWIFT void enqueue_global(swift_job *job, enqueue_original original) {
  if (!take(job)) original(job);
}

static SWIFT void enqueue_after_delay(unsigned long long delay, swift_job *job, delay_original original) {
  if (!current) return original(delay, job);
  bool is_endless = delay > (uint64_t)(INT64_MAX - monotonic);
  current->enqueue_at(current->context, is_endless ? INT64_MAX : monotonic + (int64_t)delay, job, NULL);
}

static SWIFT void enqueue_at_deadline(
    long long seconds, long long nanoseconds, long long leeway_seconds, long long leeway_nanoseconds, int clock,
    swift_job *job, deadline_original original) {
  if (!current) return original(seconds, nanoseconds, leeway_seconds, leeway_nanoseconds, clock, job);
  bool is_endless = seconds >= INT64_MAX / 1000000000;
  current->enqueue_at(current->context, is_endless ? INT64_MAX : seconds * 1000000000 + nanoseconds, job, NULL);
}

// MARK: libdispatch, which the runtime calls for sleeps and for the main actor, past its own hooks

static void enqueue_async(void *queue, void *context, void (*work)(void *)) {
  if (current && current->enqueue(current->context, context, work)) return;
  if (!next_async) find_next();
  next_async(queue, context, work);
}

void dispatch_async_f(void *queue, void *context, void (*work)(void *)) __attribute__((weak, alias("enqueue_async")));

REPLACES void dispatch_after_f(uint64_t when, void *queue, void *context, void (*work)(void *)) {
  if (!current) {
    if (!next_after) find_next();
    return next_after(when, queue, context, work);
  }
  // The two highest bits name the clock (dispatch/time.h). With both, it is the wall clock, whose time is negated.
  int64_t time = (int64_t)(when & 0x3fffffffffffffff);
  if (when >> 62 == 3) time = monotonic - (int64_t)when - realtime;
  if (when == UINT64_MAX || time == 0x3fffffffffffffff) time = INT64_MAX;
  current->enqueue_at(current->context, time, context, work);
}

// MARK: Time and randomness

void clsimulation_set_time(int64_t new_monotonic, int64_t new_realtime) {
  monotonic = new_monotonic;
  realtime = new_realtime;
}

REPLACES int clock_gettime(clockid_t clock, struct timespec *time) {
  if (!current || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID) {
    if (!next_clock_gettime) find_next();
    return next_clock_gettime(clock, time);
  }
  int64_t now = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? realtime : monotonic;
  time->tv_sec = now / 1000000000;
  time->tv_nsec = now % 1000000000;
  return 0;
}

/// Returns the next number of the generator (SplitMix64).
static uint64_t next_random(void) {
  uint64_t bits = generator += 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

/// Fills memory with random bytes.
static void fill_randomly(unsigned char *bytes, long count) {
  for (long i = 0; i < count; i += 8) {
    uint64_t word = next_random();
    memcpy(bytes + i, &word, (size_t)(count - i < 8 ? count - i : 8));
  }
}

// Swift's generator of random numbers asks for them with this function.
REPLACES long syscall(long number, ...) {
  long words[6];
  va_list arguments;
  va_start(arguments, number);
  for (int i = 0; i < 6; i++) words[i] = va_arg(arguments, long);
  va_end(arguments);
  if (!current || number != SYS_getrandom) {
    if (!next_syscall) find_next();
    return next_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
  }
  fill_randomly((unsigned char *)words[0], words[1]);
  return words[1];
}

// Foundation's `UUID()`, which reads /dev/urandom, calls this function (version 4, RFC 9562 §5.4).
REPLACES void _foundation_uuid_generate_random(unsigned char *bytes) {
  if (!current) {
    if (!next_uuid) find_next();
    return next_uuid(bytes);
  }
  fill_randomly(bytes, 16);
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
}

// MARK: Entering

/// Whether the program calls the functions of this file, and not those of a library that it links statically or of
/// ThreadSanitizer.
static bool is_called(void) {
  const struct clsimulation_world probe = {NULL, NULL, NULL};
  struct timespec time;
  if (dispatch_async_f != enqueue_async) return false;
  monotonic = 1;
  current = &probe;
  clock_gettime(CLOCK_MONOTONIC, &time);
  current = NULL;
  return time.tv_sec == 0 && time.tv_nsec == 1;
}

enum clsimulation_outcome clsimulation_enter(const struct clsimulation_world *world, uint64_t seed) {
  if (!is_called() || !_swift_stdlib_Hashing_parameters.deterministic) return CLSIMULATION_LINKED_STATICALLY;
  if (atomic_exchange(&is_running, true)) return CLSIMULATION_BUSY;
  only = *world;
  atomic_store(&was_entered, false);
  swift_task_enqueueGlobal_hook = enqueue_global;
  swift_task_enqueueMainExecutor_hook = enqueue_global;
  swift_task_enqueueGlobalWithDelay_hook = enqueue_after_delay;
  swift_task_enqueueGlobalWithDeadline_hook = enqueue_at_deadline;
  // Not the numbers of the scheduler, which has the same seed.
  generator = ~seed;
  current = &only;
  return CLSIMULATION_ENTERED;
}

void clsimulation_leave(void) {
  if (!current) return;
  current = NULL;
  atomic_store_explicit(&is_running, false, memory_order_release);
}
