// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import LastroWire
import Testing

@testable import Lastro
@testable import LastroWebSocket

@Suite("WebSocket, inside", .timeLimit(.minutes(60)))
struct WebSocketInnerTests {
  /// Runs what is due when it is told to.
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

  @Test("a writer that is woken for what was given up meanwhile waits for what comes next")
  func givenUp() async throws {
    let (near, far) = MemoryStream.pair()
    let core = WebSocketCore(
      near, configuration: .init(), deflate: nil, random: .system, time: ManualClock().timeSource)
    let executor = ManualExecutor()
    let writer = Task(executorPreference: executor) { await core.writeLoop() }
    executor.runAll()
    core.monitor.change { $0.outbox.appendPing(1, Data([1])) }
    core.monitor.change { $0.outbox.giveUpPing(1) }
    executor.runAll()
    core.monitor.change { $0.outbox.appendPing(2, Data([2])) }
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
    while !isDone.withLock(\.self), received.withLock({ $0 }) == nil {
      executor.runAll()
      await Task.yield()
    }
    // A ping, masked, with one byte.
    #expect(received.withLock { $0 }?.prefix(2) == Data([0x89, 0x81]))
    core.cut()
    while !isDone.withLock(\.self) {
      executor.runAll()
      await Task.yield()
    }
    await end.value
    try await receiver.value
  }

  @Test("pings that nobody waits for any more are not sent")
  func outbox() {
    var outbox = WebSocketOutbox()
    for id in 1...3 { outbox.appendPing(UInt64(id), Data([UInt8(id)])) }
    outbox.giveUpPing(1)
    outbox.giveUpPing(3)
    guard case .control(.ping, let payload) = outbox.takeFrame(upTo: 10) else { return fails("no ping") }
    #expect(payload == [2])
    #expect(!outbox.hasFrame)
  }

  @Test("silence is death when the ping has had its time, or nothing moves in either direction")
  func pulse() {
    var pulse = WebSocketPulse()
    #expect(!pulse.isDead)
    pulse.begin(1)
    #expect(pulse.isDead)
    // The ping waits behind other bytes.
    pulse.hasReceived = true
    #expect(!pulse.isDead)
    pulse.goOn()
    #expect(pulse.isDead)
    pulse.hasWritten = true
    #expect(!pulse.isDead)
    // It is written late: its pong has not had an interval.
    pulse.isPingWritten = true
    #expect(!pulse.isDead)
    pulse.goOn()
    #expect(pulse.isDead)
    pulse.isHeldUp = true
    #expect(!pulse.isDead)
    pulse.begin(2)
    pulse.isHeldUp = false
    #expect(!pulse.isDead)
    pulse.goOn()
    #expect(pulse.isDead)
    pulse.begin(3)
    pulse.isPingWritten = true
    #expect(pulse.isDead)
  }
}
