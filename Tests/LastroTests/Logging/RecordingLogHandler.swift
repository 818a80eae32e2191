// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport
import Logging

/// Keeps everything that is logged.
struct RecordingLogHandler: LogHandler {
  struct Entry: Sendable {
    var level: Logger.Level
    var message: String
    var metadata: Logger.Metadata

    /// All of it, as a handler would print it.
    var text: String { "\(level) \(message) \(metadata)" }
  }

  let entries: Lock<[Entry]>
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?
  var logLevel = Logger.Level.trace

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let entry = Entry(level: event.level, message: "\(event.message)", metadata: event.metadata ?? [:])
    entries.withLock { $0.append(entry) }
  }

  /// A logger, and what it is told.
  static func make(level: Logger.Level = .trace) -> (Logger, Lock<[Entry]>) {
    let entries = Lock<[Entry]>([])
    var logger = Logger(label: "test") { _ in RecordingLogHandler(entries: entries) }
    logger.logLevel = level
    return (logger, entries)
  }
}
