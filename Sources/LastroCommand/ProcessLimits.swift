// SPDX-License-Identifier: Apache-2.0

import Glibc
import LastroSupport

/// The limits of the process that Swift's runtime depends on. With too few file descriptors libdispatch ends the
/// process, and without threads it waits for ever: neither says why.
enum ProcessLimits {
  /// libdispatch opens an epoll instance, an eventfd, and a timer for each of three clocks.
  private static let descriptors = 5
  /// A worker of libdispatch, the event loop, and two that block, such as for a file.
  private static let threads = 4

  /// Returns the problem for a person to solve, or `nil` if there is none.
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
        // A root that may not be read says nothing about descriptors.
        return errno == EMFILE || errno == ENFILE ? errno : nil
      }
      opened.append(descriptor)
    }
    return nil
  }

  private static func failureOfThreads() -> Int32? {
    var limit = rlimit()
    // Threads are tried where the limit is low: elsewhere it would cost time at each start.
    guard getrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &limit) == 0, limit.rlim_cur < 256 else { return nil }
    for _ in 0..<threads {
      let code = DetachedThread.start { usleep(20_000) }
      if code != 0 { return code }
    }
    // They have to be gone before the runtime needs the room.
    usleep(40_000)
    return nil
  }
}
