// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A thread that lives as long as the process and runs blocking work in order.
///
/// `PR_SET_PDEATHSIG` fires when the *thread* that started the child ends, not the process, and the threads of the
/// concurrency runtime come and go. Every peer is therefore started here.
// @unchecked Sendable because `jobs` is only touched under `mutex`, and the two pointers never change.
final class LifelongThread: @unchecked Sendable {
  static let shared = LifelongThread()

  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var jobs: [@Sendable () -> Void] = []

  private init() {
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
    var thread = pthread_t()
    let retained = Unmanaged.passRetained(self).toOpaque()
    pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<LifelongThread>.fromOpaque(context).takeUnretainedValue().run() }
        return nil
      }, retained)
    pthread_detach(thread)
  }

  /// Runs `work` on the thread and gives its result.
  func perform<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
      enqueue { continuation.resume(with: Result(catching: work)) }
    }
  }

  private func enqueue(_ job: @escaping @Sendable () -> Void) {
    pthread_mutex_lock(mutex)
    jobs.append(job)
    pthread_cond_signal(condition)
    pthread_mutex_unlock(mutex)
  }

  private func run() {
    while true {
      pthread_mutex_lock(mutex)
      while jobs.isEmpty { pthread_cond_wait(condition, mutex) }
      let job = jobs.removeFirst()
      pthread_mutex_unlock(mutex)
      job()
    }
  }
}
