// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

/// The event loop of one start of a machine, and the near ends of its connections.
final class MachineLoop: MemoryLinkHost, LoopGuest {
  let reactor = MemoryReactor()
  let machine: MachineCore
  private let owner: Scheduler.Owner
  private let scheduler: Scheduler
  private var links: [Int32: MemoryLink] = [:]

  init(of machine: MachineCore, _ scheduler: Scheduler) {
    self.machine = machine
    self.scheduler = scheduler
    owner = machine.owner
  }

  /// Creates the loop, which the scheduler turns.
  func makeLoop(_ time: TimeSource) -> EventLoop {
    let loop = ManualLoop(time: time, reactor: reactor, guest: self)
    scheduler.setLoop(loop, of: owner)
    return loop.loop
  }

  func add(_ link: MemoryLink) { links[link.id] = link }

  /// Closes all connections, as the system does for a program that has ended.
  func closeAll() {
    for link in links.values.sorted(by: { $0.id < $1.id }) { link.close() }
  }

  // MARK: Links

  var now: Int64 { scheduler.now }

  func after(_ delay: Duration, _ body: @escaping () -> Void) {
    scheduler.perform(for: owner, at: now + max(0, delay.inNanoseconds), body)
  }

  func linkClosed(_ link: MemoryLink) { links[link.id] = nil }

  // MARK: Guest

  var isEmpty: Bool { true }
  var due: Int64 { .max }

  func beginTurn() {}
  func ready(_ ready: Readiness) { links[ready.descriptor]?.ready(ready) }
  func turn(now: Int64) {}
  func shutDown() {}
  func tearDown() {}
}
