// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroEveryday
import LastroTesting
import TestSupport
import Testing

@Suite("States of event streams", .timeLimit(.minutes(15)))
struct EventStreamStatesTests {
  private func next(_ states: inout some AsyncIteratorProtocol<EventStreamState, Never>) async -> String? {
    await states.next(isolation: #isolation)?.line
  }

  @Test("The states are connecting, open, waiting with a reason, reconnecting and ended")
  func course() async throws {
    let clock = ManualClock()
    let transport = ScriptedTransport([.events("data: a\n\n"), .answer(503), .events("data: b\n\n"), .answer(204)])
    let stream = eventStack(transport, clock: clock).events(try .test())
    var states = stream.states.makeAsyncIterator()
    async let data = stream.data()
    for line in ["connecting", "open", "waiting 4.5 s: ended"] { #expect(await next(&states) == line) }
    try await clock.waitForSleepers(count: 1)
    clock.advanceToNextSleeper()
    for line in ["connecting", "waiting 7.5 s: http/unexpected_status"] { #expect(await next(&states) == line) }
    try await clock.waitForSleepers(count: 1)
    clock.advanceToNextSleeper()
    for line in ["connecting", "open", "waiting 4.5 s: ended"] { #expect(await next(&states) == line) }
    try await clock.waitForSleepers(count: 1)
    clock.advanceToNextSleeper()
    for line in ["connecting", "ended", nil] { #expect(await next(&states) == line) }
    #expect(await data == ["a", "b"])
  }

  @Test("The stream ends when its reader leaves, when it fails, and when it is cancelled")
  func ends() async throws {
    let source = FedSource()
    source.feed("data: a\n\n")
    let left = eventStack(ScriptedTransport([.events(source)])).events(try .test())
    var states = left.states.makeAsyncIterator()
    for try await _ in left { break }
    for line in ["connecting", "open", "ended", nil] { #expect(await next(&states) == line) }

    let failed = eventStack(ScriptedTransport([.answer(404)])).events(try .test())
    states = failed.states.makeAsyncIterator()
    _ = await failed.read()
    for line in ["connecting", "ended", nil] { #expect(await next(&states) == line) }
  }

  @Test("The sequence begins with the current state, and a slow reader misses the oldest")
  func lossy() async throws {
    let steps = Array(repeating: ScriptedTransport.Step.fail(.connect, .connectFailed), count: 20)
    let stream = eventStack(ScriptedTransport(steps + [.answer(204)])).events(try .test())
    var slow = stream.states.makeAsyncIterator()
    _ = await stream.read()
    var lines: [String] = []
    while let line = await next(&slow) { lines.append(line) }
    #expect(lines.count == 16)
    #expect(lines.last == "ended")
    var late = stream.states.makeAsyncIterator()
    for line in ["ended", nil] { #expect(await next(&late) == line) }
  }

  @Test("Reading states ends in a cancelled task and opens no connection")
  func cancelled() async throws {
    let transport = ScriptedTransport()
    let stream = eventStack(transport).events(try .test())
    let task = Task {
      var states = stream.states.makeAsyncIterator()
      return await states.next(isolation: #isolation) == nil
    }
    task.cancel()
    #expect(await task.value)
    #expect(transport.requests.isEmpty)
  }
}

extension EventStreamState {
  fileprivate var line: String {
    guard case .waiting(let wait, let reason) = self else { return word }
    return "waiting \(wait.brief): \(reason?.words ?? "ended")"
  }
}
