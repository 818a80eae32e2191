// SPDX-License-Identifier: Apache-2.0

import LastroSupport

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Calls that may block for seconds, such as syncing a file: on a thread of their own, because the concurrent pool has
/// few, and all of the program's tasks wait for those.
enum BlockingCall {
  /// Runs `body` on a thread of its own, and gives what it returns. It is not cut short when the task is cancelled.
  static func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result = OneAnswer<Result<Value, Failure>>()
    let work = Work { result.give(Result { () throws(Failure) in try body() }) }
    // Where no thread can be made it runs here, which is slow rather than wrong.
    if !start(work) { work.body() }
    return try await result.value().get()
  }

  private final class Work: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  private static func start(_ work: Work) -> Bool {
    let retained = Unmanaged.passRetained(work)
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    #if canImport(Glibc)
      var thread = pthread_t()
    #else
      var thread: pthread_t?
    #endif
    let isStarted =
      pthread_create(
        &thread, &attributes,
        { work in
          if let work = work as UnsafeMutableRawPointer? {
            Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body()
          }
          return nil
        }, retained.toOpaque()) == 0
    if !isStarted { retained.release() }
    return isStarted
  }
}
