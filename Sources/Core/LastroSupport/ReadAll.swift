// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension [UInt8] {
  /// Reads a file that does not block to its end, or until more than `most` bytes are read. Returns `nil`, with the reason
  /// in `errno`, if reading fails: an error must not look like the end of the file.
  package init?(readingFrom descriptor: Int32, upTo most: Int) {
    self = []
    while count <= most {
      var reason: Int32 = 0
      let piece = [UInt8](unsafeUninitializedCapacity: 65_536) { space, count in
        let taken = uninterrupted { read(descriptor, space.baseAddress, space.count) }
        if taken < 0 { reason = errno }
        count = Swift.max(taken, 0)
      }
      guard reason == 0 else {
        errno = reason
        return nil
      }
      if piece.isEmpty { return }
      self += piece
    }
  }
}
