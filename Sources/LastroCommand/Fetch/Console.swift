// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc

/// Text to the standard streams, whole lines at a time.
enum Console {
  /// - Throws: when nobody can read it: a full disk, a closed pipe.
  static func out(_ line: String) throws(BodySink.WriteFailure) {
    try BodySink.writeAll(Data((line + "\n").utf8), to: STDOUT_FILENO)
  }

  /// What is left to do when standard output fails.
  static func give(up error: BodySink.WriteFailure) -> ExitCode {
    Self.error("lastro: \(error)")
    return ExitCode(1)
  }

  static func error(_ line: String) { try? BodySink.writeAll(Data((line + "\n").utf8), to: STDERR_FILENO) }
  static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }
}
