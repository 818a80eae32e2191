// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import LastroHTTP

/// Calls of epoll that the poller omits must not lose events: readiness, the end of a descriptor number, and its reuse.
@Suite("Poller", .timeLimit(.minutes(5)))
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

  private func ready(_ poller: Poller) -> [Int32] {
    var result: [Int32] = []
    poller.report(poller.wait(timeout: 0)) { result.append($0.descriptor) }
    return result
  }

  @Test(
    "A socket that is not watched is silent, and reported again once it is watched again", arguments: [true, false])
  func again(isKept: Bool) throws {
    let poller = try #require(Poller()), pair = try Pair()
    if isKept { poller.noteOpened(pair.near) }
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
    let poller = try #require(Poller()), pair = try Pair()
    poller.noteOpened(pair.near)
    poller.watch(pair.near, owner: 1, read: true, write: false)
    #expect(ready(poller) == [])
    poller.watch(pair.near, owner: 1, read: false, write: true)
    #expect(ready(poller) == [pair.near])
    poller.unwatch(pair.near)
    poller.watch(pair.near, owner: 2, read: false, write: true)
    var owners: [UInt32] = []
    poller.report(poller.wait(timeout: 0)) { owners.append($0.owner) }
    #expect(owners == [2])
  }

  @Test("A descriptor number that was closed and reused is registered again", arguments: [true, false], [true, false])
  func reused(isKept: Bool, isTold: Bool) throws {
    let poller = try #require(Poller()), first = try Pair(), second = try Pair()
    let number = first.near
    if isKept { poller.noteOpened(number) }
    poller.watch(number, owner: 1, read: true, write: false)
    poller.unwatch(number)
    if isKept, isTold { poller.noteClosing(number) }
    // Closes the descriptor that had the number, and assigns the number to the other connection.
    #expect(dup2(second.near, number) == number)
    if isKept { poller.noteOpened(number) }
    poller.watch(number, owner: 1, read: true, write: false)
    #expect(ready(poller) == [])
    second.write()
    #expect(ready(poller) == [number])
  }

  @Test("Work that takes long leaves the rest for the next turn, and descriptors closed meanwhile are dropped")
  func turnsEnd() throws {
    let poller = try #require(Poller()), pairs = try (0..<3).map { _ in try Pair() }
    for pair in pairs {
      poller.noteOpened(pair.near)
      poller.watch(pair.near, owner: 1, read: true, write: false)
      pair.write()
    }
    var told: [Int32] = []
    func turn() {
      poller.report(poller.hasLeft ? 0 : poller.wait(timeout: 0)) { ready in
        told.append(ready.descriptor)
        let start = monotonicNow()
        while monotonicNow() - start < 20_000_000 {}
      }
    }
    turn()
    #expect(told.count == 1 && poller.hasLeft)
    let closed = try #require(pairs.map(\.near).first { $0 != told[0] })
    poller.noteClosing(closed)
    poller.noteOpened(closed)
    poller.watch(closed, owner: 2, read: false, write: false)
    turn()
    #expect(told.count == 2 && !told.contains(closed))
    while poller.hasLeft { turn() }
    #expect(Set(told) == Set(pairs.map(\.near)).subtracting([closed]))
  }
}
