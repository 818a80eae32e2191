// SPDX-License-Identifier: Apache-2.0

import LastroSimulation
import LastroTesting
import Testing

@testable import LastroHTTP

/// A guest that records the numbers of its calls.
private final class RecordingGuest: LoopGuest {
  let isEmpty = true
  var due = Int64.max
  var turns: [Int64] = []
  var readiness: [Readiness] = []
  var onReady: (Readiness) -> Void = { _ in }

  func beginTurn() {}

  func ready(_ ready: Readiness) {
    readiness.append(ready)
    onReady(ready)
  }

  func turn(now: Int64) {
    turns.append(now)
    if now >= due { due = .max }
  }

  func shutDown() {}

  func tearDown() {}
}

@Suite("A manually turned loop")
struct ManualLoopTests {
  private let clock = ManualClock(now: .seconds(5))
  private let guest = RecordingGuest()
  private let reactor = MemoryReactor()

  private func makeLoop() -> ManualLoop {
    ManualLoop(time: clock.timeSource, reactor: reactor, guest: guest)
  }

  @Test("A loop does nothing until it is turned, and is due when its guest is")
  func due() {
    let loop = makeLoop()
    #expect(loop.due == .max && guest.turns.isEmpty)
    guest.due = Duration.seconds(7).nanoseconds
    #expect(loop.due == Duration.seconds(7).nanoseconds)
    #expect(loop.settle() && guest.turns.isEmpty)
    clock.advance(by: .seconds(2))
    #expect(loop.due == 0)
    #expect(loop.settle() && guest.turns == [Duration.seconds(7).nanoseconds])
    #expect(loop.turnOnce() && guest.turns.count == 2)
  }

  @Test("A loop sets no alarm in the clock that measures its limits")
  func alarms() {
    let loop = makeLoop()
    guest.due = Duration.seconds(7).nanoseconds
    loop.turnOnce()
    #expect(loop.settle() && clock.nextLimit == nil)
  }

  @Test("A command runs in the next turn, and none after the end of the loop")
  func commands() {
    let loop = makeLoop()
    let calls = EventRecorder<Int>()
    let isPosted = loop.loop.inbox.perform { _ in calls.record(1) }
    #expect(isPosted && calls.count == 0 && loop.due == 0)
    #expect(loop.settle() && calls.count == 1)
    loop.loop.shutDown(cancelling: true)
    #expect(loop.settle() && loop.due == nil && !loop.turnOnce())
    let isPostedLate = loop.loop.inbox.perform { _ in calls.record(2) }
    #expect(!isPostedLate)
  }

  @Test("The turning thread is the loop's current thread")
  func current() {
    let loop = makeLoop()
    #expect(!loop.loop.isCurrent)
    loop.turnOnce()
    #expect(loop.loop.isCurrent)
  }

  @Test("Readiness is reported while it is watched and lasts, in the order in which descriptors were opened")
  func readiness() {
    let loop = makeLoop()
    let first = reactor.open(owner: 1), second = reactor.open(owner: 1)
    reactor.set(second, readable: true, writable: true)
    reactor.set(first, readable: true, writable: false)
    #expect(loop.settle() && guest.readiness.isEmpty)
    reactor.watch(second, read: true, write: false)
    reactor.watch(first, read: true, write: true)
    guest.onReady = { if $0.descriptor == second { reactor.set(second, readable: false, writable: true) } }
    loop.turnOnce()
    #expect(guest.readiness.map(\.descriptor) == [first, second])
    #expect(guest.readiness.map(\.readable) == [true, true] && guest.readiness.map(\.writable) == [false, false])
    loop.turnOnce()
    #expect(guest.readiness.map(\.descriptor) == [first, second, first])
    #expect(!loop.settle(turns: 10))
    reactor.close(first)
    #expect(loop.settle() && reactor.openCount == 1)
  }

  @Test("Readiness of a descriptor that was closed earlier in the turn is not reported")
  func closedMeanwhile() {
    let loop = makeLoop()
    let descriptors = (0..<2).map { _ in reactor.open(owner: 1) }
    for descriptor in descriptors {
      reactor.watch(descriptor, read: true, write: false)
      reactor.set(descriptor, readable: true, writable: false)
    }
    guest.onReady = { _ in for descriptor in descriptors { reactor.close(descriptor) } }
    loop.turnOnce()
    #expect(guest.readiness.map(\.descriptor) == [descriptors[0]])
  }
}
