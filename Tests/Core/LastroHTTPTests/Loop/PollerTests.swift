// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lastro
import LastroSupport
import LastroTesting
import Testing

@testable import LastroHTTP

/// Calls of epoll that the poller omits must not lose events: readiness, the end of a descriptor number, and its reuse.
@Suite("Poller", .timeLimit(.minutes(15)))
struct PollerTests {
  /// Both ends of a connection. They are closed when the object is released.
  private final class Pair {
    private(set) var near: Int32
    let far: Int32

    init() throws {
      var ends: [Int32] = [0, 0]
      try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
      (near, far) = (ends[0], ends[1])
    }

    func write() {
      var byte: UInt8 = 1
      #expect(Glibc.write(far, &byte, 1) == 1)
    }

    deinit {
      close(near)
      close(far)
    }
  }

  private func makePoller() throws -> Poller {
    let inbox = try #require(LoopInbox())
    return try #require(Poller(inbox, .monotonic))
  }

  private func ready(_ poller: Poller) -> [Int32] {
    var result: [Int32] = []
    poller.report(poller.wait(until: 0)) { result.append($0.descriptor) }
    return result
  }

  @Test(
    "A socket that is not watched is silent, and reported again once it is watched again", arguments: [true, false])
  func again(isKept: Bool) throws {
    let poller = try makePoller(), pair = try Pair()
    if isKept { poller.keep(pair.near) }
    poller.watch(pair.near, owner: 1, read: true, write: false)
    #expect(ready(poller) == [])
    poller.unwatch(pair.near)
    pair.write()
    #expect(ready(poller) == [])
    poller.watch(pair.near, owner: 1, read: true, write: false)
    #expect(ready(poller) == [pair.near])
    poller.unwatch(pair.near)
    poller.watch(pair.near, owner: 1, read: true, write: false)
    #expect(ready(poller) == [pair.near])
  }

  @Test("A change of direction or owner is passed to epoll")
  func changes() throws {
    let poller = try makePoller(), pair = try Pair()
    poller.keep(pair.near)
    poller.watch(pair.near, owner: 1, read: true, write: false)
    #expect(ready(poller) == [])
    poller.watch(pair.near, owner: 1, read: false, write: true)
    #expect(ready(poller) == [pair.near])
    poller.unwatch(pair.near)
    poller.watch(pair.near, owner: 2, read: false, write: true)
    var owners: [UInt32] = []
    poller.report(poller.wait(until: 0)) { owners.append($0.owner) }
    #expect(owners == [2])
  }

  @Test("A descriptor number that was closed and reused is registered again", arguments: [true, false], [true, false])
  func reused(isKept: Bool, isTold: Bool) throws {
    let poller = try makePoller(), first = try Pair(), second = try Pair()
    let number = first.near
    if isKept { poller.keep(number) }
    poller.watch(number, owner: 1, read: true, write: false)
    poller.unwatch(number)
    if isKept, isTold { poller.forget(number) }
    // Closes the descriptor that had the number, and assigns the number to the other connection.
    #expect(dup2(second.near, number) == number)
    if isKept { poller.keep(number) }
    poller.watch(number, owner: 1, read: true, write: false)
    #expect(ready(poller) == [])
    second.write()
    #expect(ready(poller) == [number])
  }

  @Test("Work that takes long leaves the rest for the next turn, and descriptors closed meanwhile are dropped")
  func turnsEnd() throws {
    let poller = try makePoller(), pairs = try (0..<3).map { _ in try Pair() }
    for pair in pairs {
      poller.keep(pair.near)
      poller.watch(pair.near, owner: 1, read: true, write: false)
      pair.write()
    }
    var told: [Int32] = []
    func turn() {
      poller.report(poller.wait(until: 0)) { ready in
        told.append(ready.descriptor)
        let start = monotonicNow()
        while monotonicNow() - start < 20_000_000 {}
      }
    }
    turn()
    #expect(told.count == 1 && poller.hasLeft)
    let closed = try #require(pairs.map(\.near).first { $0 != told[0] })
    poller.forget(closed)
    poller.keep(closed)
    poller.watch(closed, owner: 2, read: false, write: false)
    turn()
    #expect(told.count == 2 && !told.contains(closed))
    while poller.hasLeft { turn() }
    #expect(Set(told) == Set(pairs.map(\.near)).subtracting([closed]))
  }

  @Test("A watch that the system refuses for lack of memory is requested again in every turn", arguments: 1...3)
  func refusal(count: Int) throws {
    let inbox = try #require(LoopInbox()), pair = try Pair()
    let refusals = Lock(0)
    let poller = try #require(
      Poller(inbox, .monotonic) {
        refusals.withLock { left in
          left -= 1
          return left < 0 ? 0 : count == 2 ? ENOMEM : ENOSPC
        }
      })
    refusals.withLock { $0 = count }
    poller.watch(pair.near, owner: 1, read: true, write: false)
    pair.write()
    // The wait has a limit of its own, although none is given.
    for _ in 1..<count {
      poller.report(poller.wait(until: .max)) { _ in Issue.record("nothing is watched") }
    }
    var told: [Int32] = []
    for _ in 1...2 { poller.report(poller.wait(until: .max)) { told.append($0.descriptor) } }
    #expect(told == [pair.near])
    // A changed watch is refused as well, and no longer requested once it is not wanted.
    refusals.withLock { $0 = 1 }
    poller.watch(pair.near, owner: 1, read: false, write: true)
    poller.unwatch(pair.near)
    #expect(ready(poller) == [] && ready(poller) == [])
  }

  @Test("A poller that cannot watch the wake descriptor is not made, because nothing would wake its loop")
  func deafPoller() throws {
    let inbox = try #require(LoopInbox())
    let poller = Poller(inbox, .monotonic) { ENOSPC }
    #expect(poller == nil && errno == ENOSPC)
  }

  /// Sets a late alarm, replaces it by an earlier one, and ends that.
  private func replaceAlarm(of inbox: LoopInbox, _ time: LoopTime) throws {
    let poller = try #require(Poller(inbox, time))
    for due in [5_000_000_000, 1_000_000_000] as [Int64] {
      // The wait ends at once.
      _ = inbox.prepareToSleep()
      inbox.endSleep()
      _ = poller.wait(until: due)
    }
    poller.cancelAlarm()
  }

  @Test("An alarm that was replaced or ended does not move the loop's time, even if its limit passes meanwhile")
  func staleAlarm() async throws {
    let clock = ManualClock()
    let source = TimeSource(
      now: { clock.now }, sleep: { try await clock.sleep($0) },
      limit: { limit in _ = try? await clock.waitForLimit(limit) })
    let time = LoopTime(source)
    weak var alive: LoopInbox?
    do {
      let inbox = try #require(LoopInbox())
      alive = inbox
      try replaceAlarm(of: inbox, time)
    }
    // The alarms hold the inbox until they are over.
    while alive != nil { await Task.yield() }
    #expect(time.now == 0)
  }
}
