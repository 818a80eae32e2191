// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Lines of standard input, one at a time. Reading blocks, so it happens on a queue of its own.
final class LineReader: Sendable {
  private let queue = DispatchQueue(label: "lastro.stdin")

  /// The next line without its end, or `nil` at the end of input.
  func next() async -> String? {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: readLine(strippingNewline: true)) }
    }
  }
}
