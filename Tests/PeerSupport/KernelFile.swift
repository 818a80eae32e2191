// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Files of `/proc`.
package enum KernelFile {
  /// All of a file; empty when there is none. The kernel gives its tables in pages and says that their size is 0, for which
  /// Foundation gives the first page.
  package static func text(_ path: String) -> String {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    defer { close(file) }
    var bytes: [UInt8] = []
    var page = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(file, &page, page.count)
      guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
      bytes += page[..<count]
    }
  }
}
