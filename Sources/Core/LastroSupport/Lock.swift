// SPDX-License-Identifier: Apache-2.0

public import Glibc

/// A value protected by a `pthread_mutex_t`. It is used instead of `Synchronization.Mutex`, for which ThreadSanitizer
/// reports false races on Linux.
///
/// A copy refers to the same value. The mutex and the value share one allocation.
public struct Lock<State>: @unchecked Sendable {
  // Sendable because every access to the value is between lock and unlock of the mutex.
  @usableFromInline let storage: LockStorage<State>

  /// Creates an unlocked lock.
  @inlinable
  public init(_ state: State) { storage = .make(state) }

  /// The identity of the lock, shared by its copies.
  @inlinable public var id: ObjectIdentifier { ObjectIdentifier(storage) }

  /// Runs `body` with the lock held. It must not suspend, resume a continuation, or call user code.
  @inlinable
  public func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try storage.withUnsafeMutablePointers { (state, mutex) throws(Failure) in
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return try body(&state.pointee)
    }
  }

  /// Runs `body` with the lock held. Returns `nil` at once if another thread, or this one, already holds the lock.
  @inlinable
  public func withLockIfFree<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    try storage.withUnsafeMutablePointers { (state, mutex) throws(Failure) in
      guard pthread_mutex_trylock(mutex) == 0 else { return nil }
      defer { pthread_mutex_unlock(mutex) }
      return try body(&state.pointee)
    }
  }
}

@usableFromInline
final class LockStorage<State>: ManagedBuffer<State, pthread_mutex_t> {
  @inlinable
  static func make(_ state: State) -> LockStorage {
    let buffer = create(minimumCapacity: 1) { buffer in
      buffer.withUnsafeMutablePointerToElements { mutex in
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
      }
      return state
    }
    return unsafeDowncast(buffer, to: LockStorage.self)
  }

  @inlinable
  deinit {
    withUnsafeMutablePointerToElements { mutex in
      pthread_mutex_destroy(mutex)
      mutex.deinitialize(count: 1)
    }
  }
}
