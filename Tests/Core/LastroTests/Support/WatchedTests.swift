// SPDX-License-Identifier: Apache-2.0

import LastroSupport
import Testing

@testable import Lastro

@Suite("A watched state", .timeLimit(.minutes(15)))
struct WatchedTests {
  @Test("A change resumes the tasks whose conditions it meets, and no others")
  func change() async {
    let state = Watched(0)
    async let small = state.wait { $0 >= 1 }
    async let large = state.wait { $0 >= 2 }
    state.change { $0 = 1 }
    #expect(await small)
    #expect(state.read { $0 } == 1)
    state.change { $0 = 2 }
    #expect(await large)
    #expect(await state.wait { $0 == 2 })
  }

  @Test("A cancelled task stops waiting, unless the condition is met")
  func cancelled() async {
    let state = Watched(0)
    let waiting = Task { await state.wait { $0 == 1 } }
    waiting.cancel()
    #expect(await !waiting.value)
    let limited = Task { await state.wait(within: nil, time: .continuous) { $0 == 1 } }
    limited.cancel()
    let outcome = await limited.value
    #expect(throws: Interruption.cancelled) { try outcome.get() }
    state.change { $0 = 1 }
    let late = Task { await state.wait { $0 == 1 } }
    late.cancel()
    #expect(await late.value)
  }

  @Test("A limit ends the wait")
  func limit() async {
    let state = Watched(0)
    let outcome = await state.wait(within: .milliseconds(1), time: .continuous) { $0 == 1 }
    #expect(throws: Interruption.limit) { try outcome.get() }
  }

  @Test("An error during a change is rethrown, and the change made before it resumes waiters")
  func failure() async {
    struct Failure: Error {}
    let state = Watched(0)
    async let met = state.wait { $0 == 1 }
    await Task.yield()
    #expect(throws: Failure.self) {
      try state.change { value throws(Failure) in
        value = 1
        throw Failure()
      }
    }
    #expect(await met)
  }
}
