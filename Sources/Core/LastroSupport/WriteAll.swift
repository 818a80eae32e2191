// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension UnsafeRawBufferPointer {
  /// Writes all bytes to a file that does not block. Returns false, with the reason in `errno`, if that fails.
  package func writeAll(to descriptor: Int32) -> Bool {
    var rest = self
    while !rest.isEmpty {
      let count = uninterrupted { write(descriptor, rest.baseAddress, rest.count) }
      // A write of zero bytes means that there is no room.
      if count == 0 { errno = ENOSPC }
      guard count > 0 else { return false }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
    return true
  }
}
