// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
package import Testing

/// A trait that runs each case of a test on its own thread.
///
/// The pool that tests share has as many threads as the machine has processors. A few tests that compute for seconds
/// without suspending block all of them, and connections of other tests exceed their time limits. On a thread of its
/// own, such a test competes for the processors like any other thread. A test that waits for another process needs one,
/// too: Swift Testing reads what the process reports on the thread of the waiting task.
package struct OwnThread: TestTrait, SuiteTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil else { return try await function() }
    let executor = ThreadExecutor()
    defer { executor.end() }
    try await withTaskExecutorPreference(executor) { try await function() }
  }
}

extension Trait where Self == OwnThread {
  /// Runs each case on its own thread. For tests that compute for a long time without suspending, and for those that wait
  /// for another process.
  package static var ownThread: Self { Self() }
}

/// An executor with a single thread, which runs the jobs of tasks in the order in which they are enqueued.
package final class ThreadExecutor: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    var hasEnded = false
  }

  private let state = Mutex(State())
  private let wakeUps = DispatchSemaphore(value: 0)

  /// Starts the thread, which runs until ``end()``.
  package init() {
    let thread = Thread { [self] in run() }
    thread.name = "own-thread"
    // Debug builds have large stack frames.
    thread.stackSize = 8 << 20
    thread.start()
  }

  /// Lets the thread run a job.
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { $0.jobs.append(job) }
    wakeUps.signal()
  }

  /// Ends the thread after it has run the enqueued jobs.
  package func end() {
    state.withLock { $0.hasEnded = true }
    wakeUps.signal()
  }

  private func run() {
    while true {
      wakeUps.wait()
      let (jobs, hasEnded) = state.withLock { state in
        defer { state.jobs = [] }
        return (state.jobs, state.hasEnded)
      }
      for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
      if hasEnded && jobs.isEmpty { return }
    }
  }
}
