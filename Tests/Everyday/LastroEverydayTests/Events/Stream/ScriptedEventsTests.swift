// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroEveryday
import LastroTesting
import TestSupport
import Testing

@Suite("Event streams of a script, with pauses", .timeLimit(.minutes(15)))
struct ScriptedEventsTests {
  private let clock = ManualClock()

  /// Opens a stream that may take 20 s to its first event, and 60 s without a byte after it.
  private func stream(_ step: ScriptedTransport.Step) throws -> EventStream<ServerSentEvent, any Error> {
    var options = EventStreamOptions()
    options.maximumReconnections = 0
    options.firstEvent = .seconds(20)
    return eventStack(ScriptedTransport([step]), clock: clock).events(try .test(), options: options)
  }

  @Test("Pieces arrive after their pauses on the clock, and pauses within the limits do not end the stream")
  func pauses() async throws {
    let step = ScriptedTransport.Step.events(
      (.seconds(15), "data: a\n"), (.seconds(4), "\ndata: b\n\n"), (.seconds(59), ": on\n"), (.zero, ":\n"),
      (.seconds(59), "data: c\n\n"), (.seconds(59), ""), on: clock)
    async let data = stream(step).data()
    for pause in [15, 4, 59, 59, 59] {
      try await clock.waitForSleepers(count: 1)
      clock.advance(by: .seconds(pause))
    }
    #expect(try await data == ["a", "b", "c"])
    #expect(clock.sleeps == [15, 4, 59, 59, 59].map { .seconds($0) })
  }

  @Test("A pause that is longer than the limit for the first event ends the stream, although a comment came")
  func lateFirstEvent() async throws {
    async let data = stream(.events((.seconds(10), ":\n"), (.seconds(11), "data: a\n\n"), on: clock)).data()
    try await clock.waitForSleepers(count: 1)
    clock.advance(by: .seconds(10))
    try await clock.waitForSleepers(count: 1)
    clock.advance(by: .seconds(10))
    #expect(try await data == ["timeout/first_event_timeout"])
    #expect(await eventually { clock.sleepers == 0 })
  }

  @Test("A pause between events that is longer than the idle timeout ends the stream")
  func silence() async throws {
    async let data = stream(.events((.zero, "data: a\n\n"), (.seconds(61), "data: b\n\n"), on: clock)).data()
    try await clock.waitForSleepers(count: 1)
    #expect(await eventually { clock.nextLimit == .seconds(60) })
    clock.advance(by: .seconds(60))
    #expect(try await data == ["a", "timeout/idle_timeout"])
  }

  @Test("With a clock that advances automatically, the pauses take no time")
  func automatic() async throws {
    let clock = ManualClock(autoAdvance: true)
    let step = ScriptedTransport.Step.events((.seconds(15), "data: a\n\n"), (.seconds(40), "data: b\n\n"), on: clock)
    let transport = ScriptedTransport([step, .answer(204)])
    let (events, error) = await eventStack(transport, clock: clock).events(try .test()).read()
    #expect(events.map(\.data) == ["a", "b"] && error == nil)
    #expect(clock.sleeps.prefix(2) == [.seconds(15), .seconds(40)])
  }

  @Test("Cancelling ends a pause")
  func cancelled() async throws {
    let stream = try stream(.events((.seconds(5), "data: a\n\n"), on: clock))
    let task = Task { await stream.data() }
    try await clock.waitForSleepers(count: 1)
    task.cancel()
    #expect(await task.value == ["cancelled/cancelled"])
  }
}
