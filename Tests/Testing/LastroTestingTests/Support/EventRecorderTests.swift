// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import Testing

@Suite("Event recorder", .timeLimit(.minutes(15)))
struct EventRecorderTests {
  @Test("A wait ends once the number of events exists, and each event returns its number")
  func waiting() async throws {
    let recorder = EventRecorder<String>()
    let first = Task { try await recorder.waitForEvents(count: 1) }
    let both = Task { try await recorder.waitForEvents(count: 2) }
    #expect(recorder.record("a") == 0)
    #expect(try await first.value.first == "a")
    #expect(recorder.record("b") == 1)
    #expect(try await both.value == ["a", "b"])
    #expect(try await recorder.waitForEvents(count: 2) == ["a", "b"])
    #expect(recorder.removeAll() == ["a", "b"] && recorder.record("c") == 0)
  }

  @Test("A cancelled wait ends")
  func cancelled() async {
    let recorder = EventRecorder<Int>()
    let wait = Task { try await recorder.waitForEvents(count: 1) }
    wait.cancel()
    await #expect(throws: CancellationError.self) { try await wait.value }
    #expect(recorder.count == 0)
  }
}
