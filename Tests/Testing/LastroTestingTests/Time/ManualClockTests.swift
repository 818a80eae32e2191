// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTesting
import TestSupport
import Testing

@Suite("Manual clock", .timeLimit(.minutes(15)))
struct ManualClockTests {
  @Test("A sleep ends when the clock has passed it, and not before")
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

  @Test("A sleep is cancellable, before and during it")
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

  @Test("Durations of zero or less do not sleep")
  func zero() async throws {
    let clock = ManualClock()
    try await clock.sleep(.zero)
    try await clock.sleep(.seconds(-1))
    clock.advance(by: .seconds(-5))
    #expect(clock.now == .zero)
    #expect(clock.sleeps == [.zero, .seconds(-1)])
  }

  @Test("With auto-advance sleeps return at once and move the clock")
  func autoAdvance() async throws {
    let clock = ManualClock(autoAdvance: true)
    try await clock.sleep(.seconds(1))
    try await clock.sleep(.seconds(2))
    #expect(clock.now == .seconds(3))
    #expect(clock.sleeps == [.seconds(1), .seconds(2)])
  }

  @Test("Limits are waited for and distinguished from sleeps")
  func limits() async throws {
    let clock = ManualClock(now: .seconds(10))
    #expect(clock.nextLimit == nil)
    let limits = [3, 2].map { seconds in Task { try await clock.waitForLimit(.seconds(seconds)) } }
    let sleep = Task { try await clock.sleep(.seconds(1)) }
    try await clock.waitForLimits(count: 2)
    try await clock.waitForSleepers(count: 1)
    #expect(clock.nextLimit == .seconds(12) && clock.sleepers == 1)
    clock.advance(by: .seconds(2))
    try await limits[1].value
    try await sleep.value
    #expect(clock.nextLimit == .seconds(13) && clock.sleepers == 0)
    limits[0].cancel()
    await #expect(throws: CancellationError.self) { try await limits[0].value }
    let wait = Task { try await clock.waitForLimits(count: 1) }
    wait.cancel()
    await #expect(throws: CancellationError.self) { try await wait.value }
  }

  @Test("A wait for sleepers or limits times out, and its error names those found", arguments: [false, true])
  func patience(areLimits: Bool) async throws {
    let real = ManualClock()
    let clock = ManualClock(realTime: real.timeSource)
    let sleep = Task { try await clock.sleep(.seconds(1)) }
    let wait = Task {
      if areLimits { try await clock.waitForLimits(count: 2) } else { try await clock.waitForSleepers(count: 2) }
    }
    try await clock.waitForSleepers(count: 1, within: nil)
    try await real.waitForLimits(count: 1, within: nil)
    #expect(real.nextLimit == .seconds(60))
    real.advance(by: .seconds(60))
    let error = await #expect(throws: ManualClockTimeout.self) { try await wait.value }
    #expect(error?.expected == 2 && error?.sleepers == 1 && error?.limits == 0)
    let awaited = areLimits ? "2 watched limits" : "2 sleeping tasks"
    let found = "1 sleeping task and 0 watched limits, after 1 requested sleep "
    #expect(
      error?.description.hasPrefix("waited 60 s for \(awaited) of the ManualClock, which has \(found)") == true)
    clock.advance(by: .seconds(1))
    try await sleep.value
  }

  @Test("A wait with patience ends when its count is reached, and leaves no timer behind")
  func reached() async throws {
    let real = ManualClock()
    let clock = ManualClock(realTime: real.timeSource)
    let wait = Task { try await clock.waitForSleepers(count: 1, within: .seconds(3)) }
    try await real.waitForLimits(count: 1, within: nil)
    let sleep = Task { try await clock.sleep(.seconds(1)) }
    try await wait.value
    #expect(await eventually { real.nextLimit == nil })
    clock.advance(by: .seconds(1))
    try await sleep.value
  }

  @Test("A wait for sleepers fails at once if the clock advances by itself")
  func noSleepers() async throws {
    let clock = ManualClock(autoAdvance: true)
    let error = await #expect(throws: ManualClockTimeout.self) { try await clock.waitForSleepers(count: 1) }
    #expect(error?.description.contains("autoAdvance") == true)
    try await clock.waitForSleepers(count: 0)
  }

  @Test("Many concurrent sleeps, advances and cancellations lose none")
  func storm() async throws {
    let clock = ManualClock()
    let ended = EventRecorder<Int>()
    let tasks = (0..<200).map { number in
      Task {
        defer { ended.record(number) }
        try await clock.sleep(.seconds(number % 7 + 1))
      }
    }
    for task in tasks.prefix(100) { task.cancel() }
    let isEmpty = await eventually {
      clock.advance(by: .seconds(1))
      return ended.count == 200
    }
    #expect(isEmpty && clock.sleepers == 0 && Set(ended.events).count == 200)
  }
}
