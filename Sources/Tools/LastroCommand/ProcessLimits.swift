// SPDX-License-Identifier: Apache-2.0

import Glibc
import LastroSupport

/// Checks the process limits that Swift's runtime depends on. Without enough file descriptors libdispatch ends the
/// process, and without threads it waits forever, both without an explanation.
enum ProcessLimits {
  /// libdispatch opens an epoll instance, an eventfd, and a timer for each of three clocks when it first needs them. By
  /// then the event loop, libcurl, a look-up of a name, a connection and a file may have taken theirs.
  private static let descriptors = 16
  /// The threads are a worker of libdispatch, the event loop, and two for blocking calls, such as on files.
  private static let threads = 4

  /// Returns the problem for the user to solve, or `nil` if there is none.
  static func problem() -> String? {
    if let code = failureOfDescriptors() {
      return "cannot open \(descriptors) file descriptors: \(text(code))\n  hint: raise `ulimit -n`"
    }
    if let code = failureOfThreads() {
      return "cannot start \(threads) threads: \(text(code))\n  hint: raise `ulimit -u`, or end other processes"
    }
    return nil
  }

  private static func text(_ code: Int32) -> String { String(cString: strerror(code)) }

  private static func failureOfDescriptors() -> Int32? {
    var opened: [Int32] = []
    defer { for descriptor in opened { close(descriptor) } }
    for _ in 0..<descriptors {
      let descriptor = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard descriptor >= 0 else {
        // A root directory that cannot be read says nothing about descriptors.
        return errno == EMFILE || errno == ENFILE ? errno : nil
      }
      opened.append(descriptor)
    }
    return nil
  }

  private static func failureOfThreads() -> Int32? {
    var limit = rlimit()
    // Try to start threads only if the limit is low, because it would cost time at each start.
    guard getrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &limit) == 0, limit.rlim_cur < 256 else { return nil }
    for _ in 0..<threads {
      let code = DetachedThread.start { usleep(20_000) }
      if code != 0 { return code }
    }
    // Wait until the threads have ended, because the runtime needs their slots.
    usleep(40_000)
    return nil
  }
}
