// SPDX-License-Identifier: Apache-2.0

// If the standard library is linked statically, `timespec` is imported through it.
internal import CLastro
internal import Glibc

/// The state of a set of files. While it stays equal, the contents are assumed to be unchanged.
struct FileVersion: Hashable, Sendable {
  private struct File: Hashable, Sendable {
    var device: UInt64
    var node: UInt64
    var size: Int64 = 0
    var modified: Int64 = 0
    var nanoseconds: Int64 = 0
  }

  private var files: [File] = []

  /// Reads the state; `nil` if one of the files does not exist. The call may block.
  init?(_ paths: [String]) {
    for path in paths {
      var facts = stat()
      guard stat(path, &facts) == 0 else { return nil }
      var file = File(device: UInt64(facts.st_dev), node: UInt64(facts.st_ino))
      // Reading from a pipe changes its times, and its data cannot be read again.
      if facts.st_mode & S_IFMT != S_IFIFO {
        file.size = Int64(facts.st_size)
        file.modified = Int64(facts.st_mtim.tv_sec)
        file.nanoseconds = Int64(facts.st_mtim.tv_nsec)
      }
      files.append(file)
    }
  }
}
