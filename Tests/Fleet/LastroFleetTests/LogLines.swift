// SPDX-License-Identifier: Apache-2.0

import LastroSupport
import Logging

/// The lines that a logger has written.
final class LogLines: LogHandler {
  let lines = Lock<[String]>([])
  var metadata: Logger.Metadata {
    get { [:] }
    set {}
  }
  var logLevel: Logger.Level {
    get { .trace }
    set {}
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { nil }
    set {}
  }

  func log(event: LogEvent) { lines.withLock { $0.append("\(event.level): \(event.message)") } }

  var all: [String] { lines.withLock { $0 } }
}
