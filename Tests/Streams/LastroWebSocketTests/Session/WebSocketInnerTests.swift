// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroSupport
import LastroTesting
import LastroWire
import TestSupport
import Testing

@testable import Lastro
@testable import LastroWebSocket

@Suite("WebSocket internals", .timeLimit(.minutes(15)))
struct WebSocketInnerTests {
  /// An executor that runs its jobs when the test calls `runAll`.
  private final class ManualExecutor: TaskExecutor {
    private let jobs = Lock<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      jobs.withLock { $0.append(job) }
    }

    func runAll() {
      while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
        job.runSynchronously(on: asUnownedTaskExecutor())
      }
    }
  }

  @Test("A writer that is woken for cancelled output waits for the next")
  func givenUp() async throws {
    let (near, far) = MemoryStream.pair()
    let core = WebSocketCore(
      near, configuration: .init(), deflate: nil, random: .system, time: ManualClock().timeSource)
    let executor = ManualExecutor()
    let writer = Task(executorPreference: executor) { await core.writeLoop() }
    executor.runAll()
    core.change { $0.session.ping(1, payload: [1], now: $1) }
    core.change { state, _ in state.session.giveUp(1) }
    executor.runAll()
    core.change { $0.session.ping(2, payload: [2], now: $1) }
    let isDone = Lock(false)
    let end = Task {
      await writer.value
      isDone.withLock { $0 = true }
    }
    let read = Task { try await far.read() }
    let received = Lock<Data?>(nil)
    let receiver = Task {
      let data = try await read.value
      received.withLock { $0 = data }
    }
    _ = await eventually {
      executor.runAll()
      return isDone.withLock(\.self) || received.withLock { $0 } != nil
    }
    // The bytes are those of a masked ping with one byte of payload.
    #expect(received.withLock { $0 }?.prefix(2) == Data([0x89, 0x81]))
    core.change { $0.session.cut(now: $1) }
    let isOver = await eventually {
      executor.runAll()
      return isDone.withLock(\.self)
    }
    try #require(isOver)
    await end.value
    try await receiver.value
  }
}
