// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Lines of standard input, one at a time. Reading blocks, so it happens on a queue of its own.
final class LineReader: Sendable {
  /// No request is longer; what is, is not kept.
  static let maximumLength = 64 * 1024 * 1024

  private let queue = DispatchQueue(label: "lastro.stdin")

  /// The next line without its end, or `nil` at the end of input. A line over the limit comes cut to one byte more.
  func next() async -> [UInt8]? {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: Self.read()) }
    }
  }

  private static func read() -> [UInt8]? {
    var line: [UInt8] = []
    while true {
      let byte = getchar_unlocked()
      if byte == EOF { return line.isEmpty ? nil : line }
      if byte == 0x0A { return line }
      if line.count <= maximumLength { line.append(UInt8(truncatingIfNeeded: byte)) }
    }
  }
}
