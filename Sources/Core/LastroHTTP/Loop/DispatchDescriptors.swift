// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LastroSupport

/// The file descriptors of libdispatch, which runs Swift's tasks and timers. libdispatch opens them on first use, and
/// ends the process if no descriptors are left by then.
enum DispatchDescriptors {
  /// The number of descriptors: an epoll instance, an eventfd, and a timer for each of three clocks.
  private static let count = 5
  private static let areOpen = Lock(false)

  /// Makes libdispatch open its descriptors, once per process.
  ///
  /// If the process has too few descriptors left, it does nothing, because libdispatch may have opened its own long
  /// before.
  static func open() {
    areOpen.withLock { areOpen in
      guard !areOpen, canOpen() else { return }
      areOpen = true
      // A wait of zero length would not arm a timer.
      Task.detached {
        try? await Task.sleep(for: .milliseconds(1), clock: .continuous)
        try? await Task.sleep(for: .milliseconds(1), clock: .suspending)
      }
    }
  }

  private static func canOpen() -> Bool {
    var opened: [Int32] = []
    defer { for descriptor in opened { close(descriptor) } }
    for _ in 0..<count {
      let descriptor = uninterrupted { Glibc.open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
      // Another error in opening the root folder says nothing about the number of descriptors.
      guard descriptor >= 0 else { return errno != EMFILE && errno != ENFILE }
      opened.append(descriptor)
    }
    return true
  }
}
