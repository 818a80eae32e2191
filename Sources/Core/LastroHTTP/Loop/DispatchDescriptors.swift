// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LastroSupport

/// The file descriptors of libdispatch, on which Swift runs tasks and timers. It opens them at its first use, and ends
/// the process if there are none left by then.
enum DispatchDescriptors {
  /// An epoll instance, an eventfd, and a timer for each of three clocks.
  private static let count = 5
  private static let areOpen = Lock(false)

  /// Has libdispatch open its descriptors, once in a process.
  ///
  /// It does nothing if the process has too few left: libdispatch may have opened its own long before.
  static func open() {
    areOpen.withLock { areOpen in
      guard !areOpen, canOpen() else { return }
      areOpen = true
      // A wait that has passed when it begins would arm no timer.
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
      let descriptor = systemOpen("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      // A root that may not be read says nothing about descriptors.
      guard descriptor >= 0 else { return errno != EMFILE && errno != ENFILE }
      opened.append(descriptor)
    }
    return true
  }

  private static func systemOpen(_ path: String, _ flags: Int32) -> Int32 {
    Glibc.open(path, flags)
  }
}
