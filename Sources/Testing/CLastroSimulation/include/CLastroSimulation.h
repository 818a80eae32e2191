// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Functions of Swift's concurrency runtime, libdispatch and libc, replaced on the thread that runs a simulation. On other
// threads, and while no simulation runs, they behave as usual. Hash values are the same in every process that links this.

/// The callbacks of a simulation, which are called on its thread.
struct clsimulation_world {
  void *context;
  /// Enqueues a job of the concurrency runtime. `work` runs it; if it is null, `clsimulation_run` does. Returns false if
  /// the job is not the simulation's.
  bool (*enqueue)(void *context, void *job, void (*work)(void *job));
  /// Enqueues a job for a time on the simulation's monotonic clock, in nanoseconds.
  void (*enqueue_at)(void *context, int64_t time, void *job, void (*work)(void *job));
};

/// The simulation of a task that another thread enqueues.
enum clsimulation_origin {
  /// It belongs to no simulation.
  CLSIMULATION_NONE,
  /// It belongs to the simulation that runs, which must not go on.
  CLSIMULATION_RUNNING,
  /// It belongs to a simulation that has ended, and must never continue.
  CLSIMULATION_ENDED,
};

enum clsimulation_outcome {
  CLSIMULATION_ENTERED,
  /// Another simulation runs in the process.
  CLSIMULATION_BUSY,
  /// The functions are those of libraries that the program links statically.
  CLSIMULATION_LINKED_STATICALLY,
};

/// Makes the calling thread the one that runs a simulation. The seed is that of `getrandom`.
enum clsimulation_outcome clsimulation_enter(const struct clsimulation_world *world, uint64_t seed);

/// Ends the simulation of the calling thread.
void clsimulation_leave(void);

/// Sets the time that `clock_gettime` returns on the simulation's thread, in nanoseconds: `realtime` for
/// `CLOCK_REALTIME`, and `monotonic` for the clocks that do not jump.
void clsimulation_set_time(int64_t monotonic, int64_t realtime);

/// Sets the function that returns the origin of a task. It stays valid for ever, and threads outside of the simulation
/// call it.
void clsimulation_set_origin(enum clsimulation_origin (*origin)(uint64_t task));

/// Runs a job until it suspends or ends.
void clsimulation_run(void *job);

/// Returns the number of a job's task; 0 for a job without a task.
uint64_t clsimulation_task(void *job);

/// Returns whether another thread has enqueued a task of the simulation since it was entered.
bool clsimulation_was_entered(void);
