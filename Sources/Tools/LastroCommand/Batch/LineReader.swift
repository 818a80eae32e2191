// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Dispatch
import Glibc

/// Reads lines of standard input, one at a time. Reading blocks, so it happens on a queue of its own.
final class LineReader: Sendable {
  /// The maximum length of a line in bytes; the rest of a longer one is dropped.
  static let maximumLength = 64 * 1024 * 1024

  // Safe because only the queue uses it. Not `stdin`, which is a mutable global variable.
  private nonisolated(unsafe) let input = fdopen(STDIN_FILENO, "r")
  private let queue = DispatchQueue(label: "lastro.stdin")

  /// Returns the next line without its terminator, or `nil` at the end of input. A line over the limit is cut to one
  /// byte more than the limit.
  ///
  /// - Throws: an exit status if the input cannot be read; a partial line is dropped.
  func next() async throws -> [UInt8]? {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { [self] in continuation.resume(with: Result { try read() }) }
    }
  }

  private func read() throws -> [UInt8]? {
    var line: [UInt8] = []
    while true {
      let byte = input.map { getc_unlocked($0) } ?? EOF
      if byte == EOF {
        guard let input, ferror(input) == 0 else {
          Console.error("lastro: standard input cannot be read: \(String(cString: strerror(errno)))")
          throw ExitCode.failure
        }
        return line.isEmpty ? nil : line
      }
      if byte == 0x0A { return line }
      if line.count <= Self.maximumLength { line.append(UInt8(truncatingIfNeeded: byte)) }
    }
  }
}
