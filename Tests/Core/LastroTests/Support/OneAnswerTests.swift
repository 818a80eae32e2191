// SPDX-License-Identifier: Apache-2.0

import LastroSupport
import Testing

@testable import Lastro

@Suite("One answer", .timeLimit(.minutes(15)))
struct OneAnswerTests {
  @Test("The first value counts, whether it is awaited before or after")
  func first() async {
    let early = OneAnswer<Int>()
    #expect(!early.isGiven)
    #expect(early.offer(1))
    #expect(!early.offer(2))
    #expect(early.isGiven)
    #expect(await early.value() == 1)

    let late = OneAnswer<Int>()
    async let value = late.value()
    await Task.yield()
    late.give(3)
    #expect(await value == 3)
    #expect(!late.offer(4))
  }

  @Test("A value is taken once and not retained")
  func taken() async {
    final class Box: Sendable {}
    let answer = OneAnswer<Box>()
    #expect(answer.take() == nil)
    weak var kept: Box?
    do {
      let box = Box()
      kept = box
      answer.give(box)
    }
    #expect(kept != nil)
    await answer.wait()
    #expect(answer.take() != nil)
    #expect(answer.take() == nil && answer.isGiven)
    #expect(kept == nil)
  }

  @Test("A waiter that starts after the value was taken returns at once")
  func takenBefore() async {
    let answer = OneAnswer<Int>()
    answer.give(1)
    #expect(answer.take() == 1)
    await answer.wait()
    #expect(answer.take() == nil)
  }

  @Test("The waiting task may be resumed later than the value is set")
  func settled() async {
    let answer = OneAnswer<String>()
    let task = Task {
      await answer.wait()
      return answer.take()
    }
    var waiter: OneAnswer<String>.Waiter?
    let (isFirst, none) = OneAnswer<String>().settle("nothing waits")
    #expect(isFirst && none == nil)
    for _ in 0..<1_000 { await Task.yield() }
    waiter = answer.settle("given").waiter
    #expect(answer.settle("again").isFirst == false)
    waiter?.resume()
    #expect(await task.value == "given")
  }

  @Test("Of a thousand concurrent values exactly one is the first")
  func race() async {
    let answer = OneAnswer<Int>()
    let firsts = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<1_000 { group.addTask { answer.offer(number) } }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(firsts == 1)
    #expect((0..<1_000).contains(await answer.value()))
  }
}
