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

  /// The events of a socket that are relevant to its replacement.
  enum Step: CaseIterable, Sendable { case outdated, close, cut, drop, serverClose, end }

  @Test("An outdated socket is replaced, unless a side closed it before or the application ends it meanwhile")
  func replacement() {
    for first in Step.allCases {
      for second in Step.allCases {
        for third in Step.allCases {
          let core = WebSocketCore(
            MemoryStream.pair().0, configuration: .init(), deflate: nil, random: .system,
            time: ManualClock().timeSource)
          var isReplaced = false, isOpen = true, isOver = false
          for step in [first, second, third] {
            core.change { perform(step, on: &$0, now: $1) }
            switch step {
            case .outdated: isReplaced = isReplaced || isOpen
            case .close, .cut: if !isOver { isReplaced = false }
            case .drop, .serverClose, .end: break
            }
            (isOpen, isOver) = core.change { state, _ in (isOpenState(state.current), state.current.isTerminal) }
          }
          #expect(core.change { state, _ in state.isReplaced } == isReplaced, "\(first), \(second), \(third)")
          core.change { $0.session.cut(now: $1) }
        }
      }
    }
  }

  private func isOpenState(_ state: WebSocketState) -> Bool { if case .open = state { true } else { false } }

  private func perform(_ step: Step, on state: inout SharedWebSocketState, now: Duration) {
    switch step {
    case .outdated: state.closeOutdated(.goingAway, reason: "outdated", now: now)
    case .close:
      state.endedByApplication()
      state.session.close(code: 1000, reason: "", now: now)
    case .cut:
      state.endedByApplication()
      state.session.cut(now: now)
    case .drop: state.session.drop(now: now)
    case .serverClose:
      ([0x88, 0x02, 0x03, 0xE8] as [UInt8]).withUnsafeBytes { state.session.receive($0) }
      _ = state.nextIntake(now)
    case .end: state.session.receivedEnd(now: now)
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
