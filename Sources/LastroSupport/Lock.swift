// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
  public import Glibc
#else
  public import Darwin
#endif

/// A value behind a `pthread_mutex_t`. Not `Synchronization.Mutex`: ThreadSanitizer reports false races in it on Linux.
///
/// Public and inlinable, so that the compiler specialises it in the targets that use it (`Docs/Internals.md` has figures).
public final class Lock<State: ~Copyable>: @unchecked Sendable {
  // Sendable because every access to `state` is between lock and unlock of `mutex`.
  @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
  // Unchecked because of that, too: a second access in between would wait for the mutex for ever.
  @exclusivity(unchecked) @usableFromInline var state: State

  /// Makes a lock that no thread holds.
  @inlinable
  public init(_ state: consuming State) {
    self.state = state
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  @inlinable
  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deinitialize(count: 1)
    mutex.deallocate()
  }

  /// Runs `body` with the lock held. It must not suspend, resume a continuation, or call user code.
  @inlinable
  public func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&state)
  }
}
