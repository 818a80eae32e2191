// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Where a program reads its lines and shows its own: the terminal, or a script.
struct Terminal: Sendable {
  let lines: AsyncStream<String>
  let show: @Sendable (String) -> Void

  /// The terminal of this process. Reading blocks, so a thread of its own does it; it ends with the process.
  static var standard: Terminal {
    let (lines, continuation) = AsyncStream.makeStream(of: String.self)
    DispatchQueue(label: "stdin").async {
      while let line = readLine() { continuation.yield(line) }
      continuation.finish()
    }
    return Terminal(lines: lines) { line in
      say(line)
      // Output to a pipe would wait for more.
      fflush(nil)
    }
  }
}

/// Text of a stranger, without what could drive a terminal.
func harmless(_ text: String) -> String {
  String(String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
}
