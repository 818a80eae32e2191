// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Lastro
internal import LastroSupport

/// A lock between processes, and between its users in one process. The kernel releases it when the process ends.
final class KnownHostsLock: Sendable {
  private let path: String
  private let file: Int32

  init(_ path: String) throws(ConfigurationError) {
    self.path = path
    file = uninterrupted { open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600) }
    guard file >= 0 else { throw ConfigurationError(.unwritable("cannot open", errno), path) }
  }

  deinit { close(file) }

  /// Acquires the lock if it is free. The file is not removed after release: removing it would allow two owners at
  /// once.
  ///
  /// - Throws: an error if locking is impossible, for example on a file system without locks.
  func acquireIfFree() throws(ConfigurationError) -> Bool {
    let code = uninterrupted { flock(file, LOCK_EX | LOCK_NB) }
    if code == 0 { return true }
    guard errno == EWOULDBLOCK else {
      throw ConfigurationError(.unwritable("cannot lock", errno), path)
    }
    return false
  }

  func release() { _ = flock(file, LOCK_UN) }
}
