// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// A value behind a `pthread_mutex_t`: `Lock`, for what every request passes through.
///
/// The compiler specialises no generic function of another module that is not public: `Lock.withLock` costs the engine
/// several times what it protects. Here it is specialised, and mutex and value are one allocation.
struct EngineLock<State>: ~Copyable, @unchecked Sendable {
  // Sendable because every access to the value is between lock and unlock of the mutex.
  private struct Cell {
    var mutex = pthread_mutex_t()
    var state: State
  }

  private let cell: UnsafeMutablePointer<Cell>

  /// Without access to the cell, which another thread may be in.
  private var mutex: UnsafeMutablePointer<pthread_mutex_t> {
    UnsafeMutableRawPointer(cell).assumingMemoryBound(to: pthread_mutex_t.self)
  }

  init(_ state: State) {
    cell = .allocate(capacity: 1)
    cell.initialize(to: Cell(state: state))
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    cell.deinitialize(count: 1)
    cell.deallocate()
  }

  /// Runs `body` with the lock held. It must not suspend, resume a continuation, or call user code.
  borrowing func withLock<Result, Failure: Error>(_ body: (inout State) throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&cell.pointee.state)
  }
}
