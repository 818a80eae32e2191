// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LastroSupport

/// A file that configures the resolver of the system, such as `/etc/hosts`.
enum ResolverFile {
  /// Returns the bytes of a file, at most as many as given; none if it cannot be read.
  static func bytes(of path: String, atMost most: Int) -> [UInt8] {
    guard !path.utf8.contains(0) else { return [] }
    let descriptor = uninterrupted { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    return Array(([UInt8](readingFrom: descriptor, upTo: most) ?? []).prefix(most))
  }
}
