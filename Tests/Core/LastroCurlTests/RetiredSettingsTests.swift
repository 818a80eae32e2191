// SPDX-License-Identifier: Apache-2.0

import Glibc
import LastroCurl
import LastroSupport
import Logging
import TestSupport
import Testing

@Suite("Retired environment variables", .timeLimit(.minutes(15)))
struct RetiredSettingsTests {
  @Test("LASTRO_CARRIER is reported once in the log, however many engines are created", .ownThread)
  func carrier() async {
    await #expect(processExitsWith: .success) {
      let entries = Lock<[RecordingLogHandler.Entry]>([])
      LoggingSystem.bootstrap { _ in RecordingLogHandler(entries: entries) }
      setenv("LASTRO_CARRIER", "transfer", 1)
      for _ in 0..<3 { _ = try CurlTransport() }
      let texts = entries.withLock { $0.map(\.text) }
      #expect(texts.count == 1)
      #expect(texts.first?.contains("LASTRO_CARRIER") == true)
    }
    await #expect(processExitsWith: .success) {
      let entries = Lock<[RecordingLogHandler.Entry]>([])
      LoggingSystem.bootstrap { _ in RecordingLogHandler(entries: entries) }
      unsetenv("LASTRO_CARRIER")
      _ = try CurlTransport()
      #expect(entries.withLock { $0.isEmpty })
    }
  }
}
