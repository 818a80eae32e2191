// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// Threads that end with what they do, and that nothing joins: for work that blocks, or that lasts.
package enum DetachedThread {
  /// Starts a thread that runs `body`, and lets go of it there.
  ///
  /// - Returns: 0; otherwise the system's code for why there is no thread, and `body` will not run.
  package static func start(_ body: sending @escaping () -> Void) -> Int32 {
    var attributes = pthread_attr_t()
    let problem = pthread_attr_init(&attributes)
    guard problem == 0 else { return problem }
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    #if canImport(Glibc)
      var thread = pthread_t()
    #else
      var thread: pthread_t?
    #endif
    // The new thread owns what crosses here.
    let work = Unmanaged.passRetained(Work(body))
    let code = pthread_create(
      &thread, &attributes,
      { work in
        // Whether it can be nil depends on the system.
        if let work = work as UnsafeMutableRawPointer? { Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body() }
        return nil
      }, work.toOpaque())
    if code != 0 { work.release() }
    return code
  }

  private final class Work {
    let body: () -> Void

    init(_ body: @escaping () -> Void) { self.body = body }
  }
}
