// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroEveryday
import LastroTesting
import TestSupport
import Testing

@Suite("Time limits and cancellation of event streams", .timeLimit(.minutes(15)))
struct EventTimeTests {
  private let clock = ManualClock()

  private func never() -> EventStreamOptions {
    var options = EventStreamOptions()
    options.maximumReconnections = 0
    return options
  }

  private func first(_ limit: Duration) -> EventStreamOptions {
    var options = never()
    options.firstEvent = limit
    return options
  }

  @Test("Before the first byte silence may last 5 minutes, in the engine and in the body")
  func firstByte() async throws {
    let source = FedSource()
    let transport = ScriptedTransport([.events(source)])
    let stream = eventStack(transport, clock: clock).events(try .test(), options: never())
    async let data = stream.data()
    try await clock.waitForLimits(count: 1)
    #expect(clock.nextLimit == .seconds(300))
    #expect(transport.requests.first?.idleTimeout == .seconds(300))
    clock.advance(by: .seconds(300))
    #expect(await data == ["timeout/idle_timeout"])
    #expect(source.isCancelled)
  }

  @Test("After the first byte the idle timeout applies, which comments extend indefinitely")
  func idle() async throws {
    let source = FedSource()
    let stream = eventStack(ScriptedTransport([.events(source)]), clock: clock).events(
      try .test(), options: never())
    async let data = stream.data()
    try await clock.waitForLimits(count: 1)
    for beat in 1...20 {
      source.feed(": still here\n")
      await source.waitForReads(beat + 1)
      _ = await eventually { clock.nextLimit == clock.now + .seconds(60) }
      #expect(clock.nextLimit == clock.now + .seconds(60))
      clock.advance(by: .milliseconds(59_999))
    }
    source.feed("data: a\n\n")
    await source.waitForReads(22)
    _ = await eventually { clock.nextLimit == clock.now + .seconds(60) }
    clock.advance(by: .seconds(60))
    #expect(await data == ["a", "timeout/idle_timeout"])
    #expect(source.isCancelled)
  }

  @Test("The limit for the first event runs from the head, and a comment does not end it")
  func firstEvent() async throws {
    let source = FedSource()
    let transport = ScriptedTransport([.events(source)])
    let stream = eventStack(transport, clock: clock).events(try .test(), options: first(.seconds(90)))
    async let read = stream.read()
    try await clock.waitForLimits(count: 1)
    #expect(clock.nextLimit == .seconds(90))
    clock.advance(by: .seconds(50))
    source.feed(": still here\n\n")
    await source.waitForReads(2)
    _ = await eventually {
      clock.advance(by: .seconds(40))
      return source.isCancelled
    }
    let error = try #require(await read.error)
    #expect(error.words == "timeout/first_event_timeout")
    #expect(error.message == "no event arrived within 90 s of the response's head, although other bytes did")
    #expect(error.hint == "raise the parameter firstEvent if the server needs that long")
  }

  @Test("A flood of comments does not outlast the limit for the first event")
  func flood() async throws {
    let source = FedSource()
    for _ in 0..<3 { source.feed(":\n") }
    let step = ScriptedTransport.Step.perform { [clock] _ throws(TransportError) in
      .events(source: Flood(source) { clock.advance(by: .seconds(40)) })
    }
    let stream = eventStack(ScriptedTransport([step]), clock: clock).events(try .test(), options: first(.seconds(90)))
    #expect(await stream.data() == ["timeout/first_event_timeout"])
    #expect(source.reads == 3)
  }

  @Test("From the first event on, the idle timeout limits the time between bytes, whatever the first limit was")
  func afterFirstEvent() async throws {
    let source = FedSource()
    source.feed("data: a\n\n")
    let stream = eventStack(ScriptedTransport([.events(source)]), clock: clock).events(
      try .test(), options: first(.seconds(20)))
    async let data = stream.data()
    for beat in 0..<3 {
      await source.waitForReads(beat + 2)
      _ = await eventually { clock.nextLimit == clock.now + .seconds(60) }
      #expect(clock.nextLimit == clock.now + .seconds(60))
      clock.advance(by: .milliseconds(59_999))
      source.feed(": still here\n")
    }
    await source.waitForReads(5)
    _ = await eventually { clock.nextLimit == clock.now + .seconds(60) }
    clock.advance(by: .seconds(60))
    #expect(await data == ["a", "timeout/idle_timeout"])
  }

  @Test(
    "Before the head, the longer of the two limits applies, and the code names it",
    arguments: [(90, "timeout/first_event_timeout"), (60, "timeout/idle_timeout"), (20, "timeout/idle_timeout")])
  func noHead(seconds: Int, words: String) async throws {
    let transport = ScriptedTransport([.hang])
    let stream = eventStack(transport, clock: clock).events(try .test(), options: first(.seconds(seconds)))
    async let read = stream.read()
    try await clock.waitForLimits(count: 1)
    #expect(clock.nextLimit == .seconds(max(60, seconds)))
    clock.advance(by: .seconds(max(60, seconds)))
    let error = try #require(await read.error)
    #expect(error.words == words)
    #expect(error.ledger.attempts.map(\.error?.code) == [error.code])
  }

  @Test("The limit for the first event applies without an idle timeout")
  func firstEventAlone() async throws {
    var resource = try RawHTTPResource.test()
    resource.options.timeouts = .streaming
    resource.options.timeouts?.idle = nil
    let source = FedSource()
    let transport = ScriptedTransport([.events(source)])
    let stream = eventStack(transport, clock: clock).events(resource, options: first(.seconds(20)))
    async let data = stream.data()
    try await clock.waitForLimits(count: 1)
    #expect(transport.requests.first?.idleTimeout == nil)
    clock.advance(by: .seconds(20))
    #expect(await data == ["timeout/first_event_timeout"])
    #expect(source.isCancelled)
  }

  @Test("A stream that falls silent is reconnected")
  func silence() async throws {
    let source = FedSource()
    source.feed("id: 1\ndata: a\n\n")
    let transport = ScriptedTransport([.events(source), .events("data: b\n\n"), .answer(204)])
    let stream = eventStack(transport, clock: clock).events(try .test())
    async let data = stream.data()
    await source.waitForReads(2)
    _ = await eventually { clock.nextLimit == .seconds(60) }
    clock.advance(by: .seconds(60))
    try await clock.waitForSleepers(count: 1)
    #expect(source.isCancelled)
    #expect(clock.sleeps == [.milliseconds(4_500)])
    clock.advance(by: .milliseconds(4_500))
    try await clock.waitForSleepers(count: 1)
    clock.advanceToNextSleeper()
    #expect(await data == ["a", "b"])
    #expect(transport.requests.map(\.lastEventID) == [nil, "1", "1"])
  }

  @Test("The caller's idle timeout applies, the resource's before the request's, and it may be absent")
  func ownTimeouts() async throws {
    var options = RequestOptions()
    options.timeouts = .streaming
    options.timeouts?.idle = .seconds(400)
    options.timeouts?.connect = .seconds(7)
    var resource = try RawHTTPResource.test(options: options)
    for idle in [Duration.seconds(400), .seconds(10), nil] {
      if idle != .seconds(400) {
        resource.options.timeouts = .streaming
        resource.options.timeouts?.idle = idle
      }
      let transport = ScriptedTransport([.answer(204)])
      _ = await eventStack(transport, clock: clock).events(resource).read()
      let sent = try #require(transport.requests.first)
      #expect(sent.idleTimeout == idle.map { max($0, .seconds(300)) })
      #expect(sent.connectTimeout == (idle == .seconds(400) ? .seconds(7) : .seconds(10)))
      #expect(sent.deadline == nil)
    }
  }

  @Test("An idle timeout that is not positive is refused before anything is sent", arguments: [0, -1])
  func noIdleTimeout(seconds: Int) async throws {
    var options = RequestOptions()
    options.timeouts = .streaming
    options.timeouts?.idle = .seconds(seconds)
    let transport = ScriptedTransport([.answer(204)])
    let stack = eventStack(transport)
    let resource = try RawHTTPResource.test(options: options)
    #expect(await stack.events(resource).read().error?.words == "request/invalid_option")
    #expect(await stack.jsonLines([Int].self, of: resource).outcome().1?.words == "request/invalid_option")
    #expect(transport.requests.isEmpty)
  }

  private func limited(_ total: Duration) throws -> RawHTTPResource {
    var options = RequestOptions()
    options.timeouts = .streaming
    options.timeouts?.total = total
    return try .test(options: options)
  }

  @Test("The total timeout covers all connections, and no wait is started that cannot end in time")
  func total() async throws {
    let clock = ManualClock(autoAdvance: true)
    let transport = ScriptedTransport([
      .events("data: a\n\n"), .slow(clock, .seconds(2), status: 503), .fail(.connect, .connectFailed),
    ])
    let (events, error) = await eventStack(transport, clock: clock).events(try limited(.seconds(20))).read()
    #expect(events.map(\.data) == ["a"])
    #expect(error?.words == "connect/connect_failed")
    #expect(transport.requests.map(\.deadline) == [20, 15.5, 6].map { .seconds($0) })
    #expect(clock.sleeps == [4.5, 7.5].map { .seconds($0) })
    try transport.verify()
  }

  @Test("A stream that ends cleanly without time for another connection fails with the total timeout")
  func noTimeLeft() async throws {
    let transport = ScriptedTransport([.events("data: a\n\n")])
    let stream = eventStack(transport, clock: clock).events(try limited(.seconds(4)))
    #expect(await stream.data() == ["a", "timeout/total_timeout"])
    #expect(clock.sleeps.isEmpty)
  }

  @Test("An end for want of time says that the next connection would come too late, not that the time has passed")
  func tooLate() async throws {
    let transport = ScriptedTransport([.events("data: a\n\n")])
    let (_, error) = await eventStack(transport, clock: clock).events(try limited(.seconds(4))).read()
    #expect(
      error?.message == "the next connection, after a wait of 4.5 s, would begin after the total timeout of 4 s")
    #expect(clock.sleeps.isEmpty)
  }

  @Test("If the wait for the next connection overshoots the deadline, the stream fails with the total timeout")
  func lateWait() async throws {
    let transport = ScriptedTransport([.events("data: a\n\n")])
    let stream = eventStack(transport, clock: clock).events(try limited(.seconds(5)))
    async let data = stream.data()
    try await clock.waitForSleepers(count: 1)
    clock.advance(by: .seconds(10))
    #expect(await data == ["a", "timeout/total_timeout"])
    #expect(transport.requests.count == 1)
  }

  @Test("Cancelling ends a wait at once")
  func cancelledWait() async throws {
    let transport = ScriptedTransport([.fail(.connect, .connectFailed)])
    let stream = eventStack(transport, clock: clock).events(try .test())
    let task = Task { await stream.data() }
    try await clock.waitForSleepers(count: 1)
    task.cancel()
    #expect(await task.value == ["cancelled/cancelled"])
    #expect(clock.sleepers == 0)
    #expect(transport.requests.count == 1)
  }

  @Test("Cancelling ends a read and the connection at once")
  func cancelledRead() async throws {
    let source = FedSource()
    source.feed("data: a\n\n")
    let transport = ScriptedTransport([.events(source)])
    let stream = eventStack(transport, clock: clock).events(try .test())
    let task = Task { await stream.data() }
    await source.waitForReads(2)
    task.cancel()
    #expect(await task.value == ["a", "cancelled/cancelled"])
    #expect(source.isCancelled)
    #expect(transport.requests.count == 1)
  }

  @Test("Cancelling ends a connection attempt, also for a task that was cancelled before")
  func cancelledConnecting() async throws {
    let transport = ScriptedTransport([.hang])
    let stream = eventStack(transport, clock: clock).events(try .test())
    let task = Task { await stream.data() }
    _ = await eventually { transport.runningRequests == 1 }
    task.cancel()
    #expect(await task.value == ["cancelled/cancelled"])
    let late = Task { () -> [String] in
      withUnsafeCurrentTask { $0?.cancel() }
      return await stream.data()
    }
    #expect(await late.value == ["cancelled/cancelled"])
    #expect(transport.requests.count == 1)
  }
}

/// A body of another one's pieces, before each of which time passes.
private final class Flood: ResponseBodySource {
  private let source: FedSource
  private let pass: @Sendable () -> Void

  init(_ source: FedSource, pass: @escaping @Sendable () -> Void) {
    self.source = source
    self.pass = pass
  }

  var finalFacts: TransferFacts? { nil }
  func cancel() { source.cancel() }

  func next() async throws(TransportError) -> Data? {
    pass()
    return try await source.next()
  }
}
