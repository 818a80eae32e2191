// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Dispatch
import Glibc

/// Lines of standard input, one at a time. Reading blocks, so it happens on a queue of its own.
final class LineReader: Sendable {
  /// No request is longer; what is, is not kept.
  static let maximumLength = 64 * 1024 * 1024

  // Safe because the queue alone touches it. Not `stdin`, which is a variable that anybody may set.
  private nonisolated(unsafe) let input = fdopen(STDIN_FILENO, "r")
  private let queue = DispatchQueue(label: "lastro.stdin")

  /// The next line without its end, or `nil` at the end of input. A line over the limit comes cut to one byte more.
  ///
  /// - Throws: where the input cannot be read; a line that had begun is dropped.
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
