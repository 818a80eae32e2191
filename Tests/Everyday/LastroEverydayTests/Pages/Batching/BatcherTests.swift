// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Many questions in one", .timeLimit(.minutes(5)))
struct BatcherTests {
  /// A batcher that doubles its keys, but for 13, and what it was asked for.
  private func doubling(
    _ clock: ManualClock, maximum: Int = 100
  ) -> (batcher: Batcher<Int, Int>, asked: Lock<[[Int]]>) {
    let asked = Lock<[[Int]]>([])
    let batcher = Batcher<Int, Int>(maximum: maximum, timeSource: clock.timeSource) { keys in
      asked.withLock { $0.append(keys) }
      return Dictionary(uniqueKeysWithValues: keys.filter { $0 != 13 }.map { ($0, 2 * $0) })
    }
    return (batcher, asked)
  }

  @Test("what is asked for within the window is loaded together, each key once")
  func together() async throws {
    let clock = ManualClock()
    let (batcher, asked) = doubling(clock)
    let values = [1, 2, 2, 3, 1].map { key in Task { try await batcher.value(for: key) } }
    try await clock.waitForSleepers(count: 1)
    #expect(await eventually { batcher.waiting == 5 })
    #expect(asked.withLock { $0.isEmpty })
    clock.advance(by: .milliseconds(2))
    for (task, value) in zip(values, [2, 4, 4, 6, 2]) { #expect(try await task.value == value) }
    #expect(asked.withLock { $0.map(Set.init) } == [[1, 2, 3]])
    #expect(asked.withLock { $0.first?.count } == 3)
  }

  @Test("a full batch does not wait, and the next key begins another")
  func full() async throws {
    let clock = ManualClock()
    let (batcher, asked) = doubling(clock, maximum: 2)
    async let first = batcher.value(for: 1)
    try await clock.waitForSleepers(count: 1)
    #expect(try await batcher.value(for: 2) == 4)
    #expect(try await first == 2)
    #expect(asked.withLock { $0 } == [[1, 2]])
    #expect(await eventually { clock.sleepers == 0 })
    let single = Batcher<Int, Int>(window: .zero) { Dictionary(uniqueKeysWithValues: $0.map { ($0, $0) }) }
    #expect(try await single.value(for: 7) == 7)
    let none = Batcher<Int, Int>(maximum: 0) { Dictionary(uniqueKeysWithValues: $0.map { ($0, $0) }) }
    #expect(try await none.value(for: 7) == 7)
  }

  @Test("a key without a value fails those alone that asked for it")
  func missing() async throws {
    let (batcher, _) = doubling(ManualClock(), maximum: 2)
    async let found = batcher.value(for: 1)
    await #expect(throws: BatchKeyMissing.self) { try await batcher.value(for: 13) }
    #expect(try await found == 2)
  }

  @Test("a load that fails fails for all")
  func failed() async throws {
    let batcher = Batcher<Int, Int>(maximum: 2) { _ in throw TestError(name: "down") }
    let first = Task { try await batcher.value(for: 1) }
    await #expect(throws: TestError(name: "down")) { try await batcher.value(for: 2) }
    await #expect(throws: TestError(name: "down")) { try await first.value }
  }

  @Test("cancelling one who waits leaves the others; when none is left, the load is cancelled")
  func cancelled() async throws {
    let begun = EventRecorder<String>()
    let release = Watched(false)
    let batcher = Batcher<Int, Int>(maximum: 2) { keys in
      begun.record("begun")
      let isReleased = await release.wait(until: { $0 })
      begun.record(isReleased ? "released" : "cancelled")
      return Dictionary(uniqueKeysWithValues: keys.map { ($0, $0) })
    }
    let tasks = [1, 2].map { key in Task { try await batcher.value(for: key) } }
    try await begun.waitForEvents(count: 1)
    tasks[0].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[0].value }
    release.change { $0 = true }
    #expect(try await tasks[1].value == 2)
    release.change { $0 = false }
    let others = [3, 4].map { key in Task { try await batcher.value(for: key) } }
    try await begun.waitForEvents(count: 3)
    for task in others { task.cancel() }
    try await begun.waitForEvents(count: 4)
    #expect(begun.events == ["begun", "released", "begun", "cancelled"])
  }

  @Test("nothing is loaded, nor waited for, when all were cancelled before the window had passed")
  func abandoned() async throws {
    let clock = ManualClock()
    let (batcher, asked) = doubling(clock)
    let task = Task { try await batcher.value(for: 1) }
    try await clock.waitForSleepers(count: 1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(batcher.waiting == 0)
    #expect(await eventually { clock.sleepers == 0 })
    async let other = batcher.value(for: 2)
    try await clock.waitForSleepers(count: 1)
    clock.advance(by: .milliseconds(2))
    #expect(try await other == 4)
    #expect(asked.withLock { $0 } == [[2]])
  }
}
