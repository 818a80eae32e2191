// SPDX-License-Identifier: Apache-2.0

// If the standard library is linked statically, `timespec` is imported through it.
internal import CLastro
internal import Glibc

/// The state of a set of files. While it stays equal, the contents are assumed to be unchanged.
struct FileVersion: Hashable, Sendable {
  /// The revision of the source that names the files; `nil` if it always names the same ones.
  private let revision: UInt64?
  /// Five numbers for each file: device, inode, size, and the seconds and nanoseconds of its latest change.
  private var numbers: [Int] = []

  /// Reads the state; `nil` if one of the files does not exist. The call may block.
  ///
  /// - Parameter revision: the revision of the source that names the files. Default `nil`: it always names the same
  ///   ones.
  init?(_ paths: [String], revision: UInt64? = nil) {
    self.revision = revision
    for path in paths {
      var facts = stat()
      guard stat(path, &facts) == 0 else { return nil }
      numbers += [Int(truncatingIfNeeded: facts.st_dev), Int(truncatingIfNeeded: facts.st_ino)]
      // Reading from a pipe changes its times, and its data cannot be read again.
      let isPipe = facts.st_mode & S_IFMT == S_IFIFO
      numbers += isPipe ? [0, 0, 0] : [Int(facts.st_size), Int(facts.st_mtim.tv_sec), Int(facts.st_mtim.tv_nsec)]
    }
  }
}
