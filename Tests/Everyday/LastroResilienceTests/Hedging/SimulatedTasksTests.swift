// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport
import LastroTesting
import Testing

@Suite("Simulated tasks", .timeLimit(.minutes(15)))
struct SimulatedTasksTests {
  @Test("Tasks of a group run in turn, time jumps to the next due one, and a deadlock is detected")
  func order() {
    let tasks = SimulatedTasks()
    let time = tasks.clock.timeSource
    let order = tasks.run {
      await withTaskGroup(of: Int.self) { group in
        for wait in [3, 1, 2] {
          group.addTask {
            try? await time.limit(.seconds(wait))
            return wait
          }
        }
        return await group.reduce(into: [Int]()) { $0.append($1) }
      }
    }
    #expect(order == [1, 2, 3])
    #expect(tasks.clock.now == .seconds(3))
    let never = OneAnswer<Void>()
    #expect(tasks.run { await never.wait() } == nil)
    never.give(())
    // A task that never ends is never freed. The next run lets the resumed task end.
    #expect(tasks.run { true } == true)
  }
}
