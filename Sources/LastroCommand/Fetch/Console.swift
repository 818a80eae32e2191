// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// Text to the standard streams, whole lines at a time.
enum Console {
  static func out(_ line: String) { try? BodySink.writeAll(Data((line + "\n").utf8), to: STDOUT_FILENO) }
  static func error(_ line: String) { try? BodySink.writeAll(Data((line + "\n").utf8), to: STDERR_FILENO) }
  static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }
}
