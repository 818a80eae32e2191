// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// An event loop. It calls its engines and guests, on one thread at a time (``LoopSeat``).
///
/// The driver waits for descriptors, the timer or a command. A turn then processes ready descriptors, performs
/// commands, lets the guests and engines act, enforces limits that have passed, sends queued bytes, and wakes the tasks
/// whose answers have arrived.
package final class LoopCore {
  package let context: LoopContext
  private let time: LoopTime
  private let inbox: LoopInbox
  private let reactor: any Reactor
  private let clock: LoopClock
  // Unchecked because only the loop accesses it, and guests are added before the first turn.
  @exclusivity(unchecked) private var guests: [any LoopGuest] = []
  private var engines: [HTTPEngine] = []
  private var bodiesExpiry = BodyBlockExpiry()
  private var commands: [LoopCommand] = []
  private var isShuttingDown = false
  /// The time until which the loop's thread waits for descriptors, unless it is woken.
  private var waitsUntil: Int64 = 0
  private var sleeps = false
  /// The number of commands in the inbox that were certainly posted before the reactor was last queried.
  private var earlyCommands = 0

  init(_ context: LoopContext, _ reactor: any Reactor, time: LoopTime) {
    self.context = context
    self.reactor = reactor
    self.time = time
    inbox = context.inbox
    clock = context.clock
  }

  package func add(_ guest: any LoopGuest) { guests.append(guest) }

  /// Returns the first guest of a type.
  package func guest<Guest: LoopGuest>(_ type: Guest.Type) -> Guest? {
    for guest in guests { if let guest = guest as? Guest { return guest } }
    return nil
  }

  func add(_ engine: HTTPEngine) { engines.append(engine) }

  func remove(_ engine: HTTPEngine) {
    engines.removeAll { $0 === engine }
    engine.tearDown()
  }

  /// Returns how long the loop's driver may wait for readiness; `nil` if the loop has ended.
  func nextWait() -> LoopWait? {
    if isShuttingDown, engines.allSatisfy(\.isEmpty), guests.allSatisfy(\.isEmpty) { return nil }
    sleeps = false
    earlyCommands = 0
    if reactor.hasLeft { return LoopWait.none }
    waitsUntil = due
    let wait = LoopWait(until: waitsUntil, time)
    guard wait.left > 0 else { return LoopWait.none }
    if let lying = inbox.prepareToSleep() {
      earlyCommands = lying
      return LoopWait.none
    }
    sleeps = true
    return wait
  }

  func close() {
    for command in inbox.close() {
      switch command {
      case .start(let job): refuse(job)
      case .guest(let command): command.perform(on: self)
      default: break
      }
    }
    for engine in engines { engine.tearDown() }
    engines = []
    for guest in guests { guest.tearDown() }
    context.tearDown()
    context.bodies.close()
  }

  /// - Parameter readyCount: the result of the reactor's wait.
  func turn(_ readyCount: Int) {
    clock.update()
    for guest in guests { guest.beginTurn() }
    let isWoken = sleeps && inbox.noteAwake()
    let isAll = reactor.report(readyCount) { ready in
      if ready.owner == SystemReactor.wakeOwner {
        if isWoken { earlyCommands = 1 }
      } else {
        guests.first { type(of: $0).owners.contains(ready.owner) }?.ready(ready)
      }
    }
    if !isAll { earlyCommands = 0 }
    takeCommands()
    let now = clock.now
    for guest in guests { guest.turn(now: now) }
    context.turn()
    expire(now: now)
    context.settle()
    bodiesExpiry.look(at: context.bodies, isBusy: context.exchanges > 0, now: now)
    context.deliveries.send(now: now)
  }

  /// Begins a job on another thread while the loop's thread waits for descriptors. Returns false if the job must begin
  /// on the loop's thread.
  func beginAside(_ job: EngineJob) -> Bool {
    guard !isShuttingDown, job.reference.core?.beginAtOnce(job) == true else { return false }
    context.settle()
    context.deliveries.send(now: clock.now)
    if due < waitsUntil { inbox.endSleep() }
    return true
  }

  private var due: Int64 {
    if context.isTurnWanted { return 0 }
    let own = min(context.enginesDue, bodiesExpiry.due, context.deliveries.due)
    return guests.reduce(own) { min($0, $1.due) }
  }

  private func expire(now: Int64) {
    guard now >= context.enginesDue else { return }
    context.enginesDue = .max
    for engine in engines { engine.expire(now: now) }
  }

  private func takeCommands() {
    inbox.take(into: &commands)
    for (number, command) in commands.enumerated() {
      context.hasLooked = number < earlyCommands
      perform(command)
    }
    context.hasLooked = false
    commands.removeAll(keepingCapacity: true)
  }

  private func perform(_ command: LoopCommand) {
    switch command {
    case .start(let job):
      if let engine = job.reference.core, !isShuttingDown { engine.begin(job) } else { refuse(job) }
    case .cancel(let job): job.reference.core?.cancel(job)
    case .resumeReceiving(let job): job.reference.core?.resumeReceiving(job)
    case .resumeSending(let job): job.reference.core?.resumeSending(job)
    case .guest(let command): command.perform(on: self)
    case .shutDown(let cancelling):
      isShuttingDown = true
      for guest in guests { guest.shutDown() }
      for engine in engines { engine.shutDown(cancelling: cancelling) }
    }
  }

  /// Ends a job that was not passed to an engine.
  private func refuse(_ job: EngineJob) {
    job.reference.load.end()
    job.finish(.shutDown, facts: nil)
  }
}
