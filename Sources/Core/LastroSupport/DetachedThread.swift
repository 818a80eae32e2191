// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Detached threads that end when their function returns, for work that blocks or runs for a long time.
package enum DetachedThread {
  /// Starts a thread that runs `body` and releases it there.
  ///
  /// - Returns: 0 on success; otherwise the system's error code, and `body` is not run.
  package static func start(_ body: sending @escaping () -> Void) -> Int32 {
    var attributes = pthread_attr_t()
    let problem = pthread_attr_init(&attributes)
    guard problem == 0 else { return problem }
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    // The new thread takes ownership of the work.
    let work = Unmanaged.passRetained(Work(body))
    let code = pthread_create(
      &thread, &attributes,
      { work in
        // The optionality of the pointer depends on the system.
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
