// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTesting
import Testing

@Suite("Manual clock")
struct ManualClockTests {
  @Test("a sleep ends when the clock has passed it, not before")
  func advance() async throws {
    let clock = ManualClock(now: .seconds(10))
    let woken = EventRecorder<Int>()
    let tasks = [3, 1, 2].map { length in
      Task {
        try await clock.timeSource.sleep(.seconds(length))
        woken.record(length)
      }
    }
    try await clock.waitForSleepers(count: 3)
    clock.advance(by: .milliseconds(999))
    #expect(clock.sleepers == 3)
    clock.advance(by: .milliseconds(1))
    #expect(clock.sleepers == 2)
    try await tasks[1].value
    #expect(clock.advanceToNextSleeper() == .seconds(1))
    try await tasks[2].value
    #expect(woken.events == [1, 2])
    clock.advance(by: .seconds(100))
    try await tasks[0].value
    #expect(clock.now == .seconds(112))
    #expect(clock.timeSource.now() == .seconds(112))
    #expect(Set(clock.sleeps) == [.seconds(1), .seconds(2), .seconds(3)])
    #expect(clock.advanceToNextSleeper() == nil)
  }

  @Test("a sleep is cancellable, before and while it lasts")
  func cancel() async throws {
    let clock = ManualClock()
    let task = Task { try await clock.sleep(.seconds(1)) }
    try await clock.waitForSleepers(count: 1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(clock.sleepers == 0)
    let early = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(.seconds(1))
    }
    await #expect(throws: CancellationError.self) { try await early.value }
    let waiter = Task { try await clock.waitForSleepers(count: 1) }
    waiter.cancel()
    await #expect(throws: CancellationError.self) { try await waiter.value }
  }

  @Test("nothing and less than nothing are no sleep")
  func zero() async throws {
    let clock = ManualClock()
    try await clock.sleep(.zero)
    try await clock.sleep(.seconds(-1))
    clock.advance(by: .seconds(-5))
    #expect(clock.now == .zero)
    #expect(clock.sleeps == [.zero, .seconds(-1)])
  }

  @Test("auto-advance: sleeps return at once and move the clock")
  func autoAdvance() async throws {
    let clock = ManualClock(autoAdvance: true)
    try await clock.sleep(.seconds(1))
    try await clock.sleep(.seconds(2))
    #expect(clock.now == .seconds(3))
    #expect(clock.sleeps == [.seconds(1), .seconds(2)])
  }

  @Test("a storm of sleeps, advances and cancellations loses none")
  func storm() async throws {
    let clock = ManualClock()
    let tasks = (0..<200).map { number in
      Task { try await clock.sleep(.seconds(number % 7 + 1)) }
    }
    for task in tasks.prefix(100) { task.cancel() }
    var pending = 200
    while pending > 0 {
      clock.advance(by: .seconds(1))
      await Task.yield()
      pending = clock.sleeps.count < 200 ? 200 : clock.sleepers
    }
    // Those that had not begun to sleep when the last was counted still do.
    let pump = Task {
      while !Task.isCancelled {
        clock.advance(by: .seconds(7))
        await Task.yield()
      }
    }
    var finished = 0
    for task in tasks {
      _ = await task.result
      finished += 1
    }
    pump.cancel()
    #expect(finished == 200)
    #expect(clock.sleepers == 0)
  }
}
