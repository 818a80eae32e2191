// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Waiting for user code", .timeLimit(.minutes(15)))
struct InterruptibleTests {
  @Test("A prompt operation's value is returned, with and without a limit")
  func prompt() async throws {
    let clock = SimulatedClock()
    for limit in [nil, Duration.seconds(1)] {
      for ignoring in [false, true] {
        let result = await interruptible(within: limit, ignoringCancellation: ignoring, time: clock.source) { 7 }
        #expect(try result.get() == 7)
      }
    }
  }

  @Test("A hanging operation is abandoned and cancelled at the limit, whether it reacts to that or not")
  func limit() async throws {
    for isCancellable in [true, false] {
      for ignoring in [true, false] {
        let clock = SimulatedClock()
        let cancelled = EventRecorder<Bool>()
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let result = await interruptible(
          within: .seconds(5), ignoringCancellation: ignoring, time: clock.source
        ) {
          _ = await clock.elapse(nil, isLimited: true, isCancellable: isCancellable)
          cancelled.record(Task.isCancelled)
          end.finish()
          return 1
        }
        #expect(throws: Interruption.limit) { try result.get() }
        #expect(clock.now == .seconds(5))
        clock.close()
        for await _ in ended {}
        #expect(cancelled.events == [true])
      }
    }
  }

  @Test("Cancelling meanwhile returns at once though the operation ignores it")
  func cancelled() async throws {
    let clock = SimulatedClock()
    let (started, start) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      await interruptible(within: nil, time: clock.source) {
        start.finish()
        await clock.hang(isCancellable: false)
        return 1
      }
    }
    for await _ in started {}
    task.cancel()
    let result = await task.value
    #expect(throws: Interruption.cancelled) { try result.get() }
    clock.close()
  }

  @Test("Cancelling before returns at once, and the operation sees that it is cancelled")
  func cancelledBefore() async throws {
    let clock = SimulatedClock()
    let (ended, end) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      await clock.hang(isCancellable: true)
      return await interruptible(within: nil, time: clock.source) {
        await clock.hang(isCancellable: true)
        end.finish()
        return 1
      }
    }
    task.cancel()
    let result = await task.value
    #expect(throws: Interruption.cancelled) { try result.get() }
    for await _ in ended {}
  }

  @Test("If cancellation is ignored, a prompt operation is awaited and a hanging one times out")
  func ignoring() async throws {
    let clock = SimulatedClock()
    let task = Task {
      await clock.hang(isCancellable: true)
      let prompt = await interruptible(within: .seconds(1), ignoringCancellation: true, time: clock.source) {
        // The operation ends only because it is cancelled.
        await clock.hang(isCancellable: true)
        return Task.isCancelled
      }
      let hanging = await interruptible(within: .seconds(1), ignoringCancellation: true, time: clock.source) {
        await clock.elapse(nil, isLimited: true, isCancellable: false)
      }
      return (prompt, hanging)
    }
    task.cancel()
    let (prompt, hanging) = await task.value
    #expect(try prompt.get())
    #expect(throws: Interruption.limit) { try hanging.get() }
    #expect(clock.now == .seconds(1))
    clock.close()
  }

  @Test("No timer is left running")
  func timers() async throws {
    let ended = EventRecorder<Bool>()
    let (watching, watch) = AsyncStream.makeStream(of: Void.self)
    let time = TimeSource(
      now: { .zero }, sleep: { _ in },
      limit: { _ in
        watch.yield()
        let (never, hold) = AsyncStream.makeStream(of: Void.self)
        for await _ in never {}
        hold.finish()
        ended.record(Task.isCancelled)
        watch.finish()
        throw CancellationError()
      })
    let result = await interruptible(within: .seconds(1), time: time) {
      for await _ in watching { return 3 }
      return 4
    }
    #expect(try result.get() == 3)
    // A second reader of the stream sees its end.
    for await _ in watching {}
    #expect(ended.events == [true])
  }

  @Test("Simultaneous value, limit and cancellation give one result, a thousand times")
  func races() async throws {
    var results: [Result<Int, Interruption>] = []
    for _ in 0..<1_000 {
      let clock = SimulatedClock()
      let task = Task {
        await interruptible(within: .seconds(1), time: clock.source) {
          clock.advance(by: .seconds(2))
          return 1
        }
      }
      task.cancel()
      results.append(await task.value)
      clock.close()
    }
    #expect(results.count == 1_000)
    #expect(results.allSatisfy { [.success(1), .failure(.limit), .failure(.cancelled)].contains($0) })
  }
}
