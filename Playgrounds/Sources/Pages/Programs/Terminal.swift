// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// The input and output of a program: the terminal, or a script.
struct Terminal: Sendable {
  let lines: AsyncStream<String>
  let show: @Sendable (String) -> Void

  /// The terminal of this process. Reading blocks, so a separate thread does it until the process ends.
  static var standard: Terminal {
    let (lines, continuation) = AsyncStream.makeStream(of: String.self)
    DispatchQueue(label: "stdin").async {
      while let line = readLine() { continuation.yield(line) }
      continuation.finish()
    }
    return Terminal(lines: lines) { line in
      say(line)
      // Output to a pipe would otherwise stay in the buffer.
      fflush(nil)
    }
  }
}

/// Returns untrusted text with control characters replaced by spaces, so that it cannot control the terminal.
func harmless(_ text: String) -> String {
  String(String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
}
