// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// An event loop. It calls its engines and its guest, on one thread at a time (``EventLoop/seat``).
///
/// The driver waits for descriptors, the timer or a command. A turn then processes ready descriptors, performs
/// commands, lets the guest and the engines act, enforces limits that have passed, sends queued bytes, and wakes the
/// tasks whose answers have arrived.
package final class LoopCore {
  package let context: LoopContext
  private let reactor: any Reactor
  /// The guest; `nil` if there is none. It is set once, because its descriptors stay registered until its end.
  // Unchecked because only the loop accesses it.
  @exclusivity(unchecked) package private(set) var guest: (any LoopGuest)?
  private var engines: [HTTPEngine] = []
  private var bodiesExpiry = BodyBlockExpiry()
  private var commands: [LoopCommand] = []
  private var isShuttingDown = false
  /// The time until which the loop's thread waits for descriptors, unless it is woken.
  private var waitsUntil: Int64 = 0
  private var sleeps = false
  /// The number of commands in the inbox that were certainly posted before the reactor was last queried.
  private var earlyCommands = 0

  /// - Parameter prepare: opens engines, and returns the guest.
  init(_ context: LoopContext, _ reactor: any Reactor, _ prepare: (LoopCore) -> (any LoopGuest)?) {
    self.context = context
    self.reactor = reactor
    guest = prepare(self)
  }

  /// Adds an engine. Must be called on the loop's thread.
  package func open(_ reference: EngineReference, _ settings: EngineSettings, _ connector: any Connector) {
    engines.append(HTTPEngine(settings, connector, reference, context))
  }

  func remove(_ engine: HTTPEngine) {
    engines.removeAll { $0 === engine }
    engine.tearDown()
  }

  /// Returns the time until which the loop's driver may wait for readiness: 0 if it must not wait, `.max` without a
  /// limit; `nil` if the loop has ended.
  func nextDue() -> Int64? {
    if isShuttingDown, engines.allSatisfy(\.isEmpty), guest?.isEmpty != false { return nil }
    sleeps = false
    earlyCommands = 0
    if reactor.hasLeft { return 0 }
    waitsUntil = due
    guard waitsUntil == .max || waitsUntil != 0 && waitsUntil > context.time.now else { return 0 }
    if let lying = context.inbox.prepareToSleep() {
      earlyCommands = lying
      return 0
    }
    sleeps = true
    return waitsUntil
  }

  func close() {
    isShuttingDown = true
    for command in context.inbox.close() { perform(command) }
    for engine in engines { engine.tearDown() }
    engines = []
    guest?.tearDown()
    context.tearDown()
    context.bodies.close()
  }

  /// - Parameter readyCount: the result of the reactor's wait.
  func turn(_ readyCount: Int) {
    context.updateNow()
    guest?.beginTurn()
    let isWoken = sleeps && context.inbox.markAwake()
    let isAll = reactor.report(readyCount) { ready in
      if ready.owner == Poller.wakeOwner {
        if isWoken { earlyCommands = 1 }
      } else {
        guest?.ready(ready)
      }
    }
    if !isAll { earlyCommands = 0 }
    takeCommands()
    let now = context.now
    guest?.turn(now: now)
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
    context.deliveries.send(now: context.now)
    if due < waitsUntil { context.inbox.endSleep() }
    return true
  }

  private var due: Int64 {
    if context.isTurnWanted { return 0 }
    return min(context.enginesDue, bodiesExpiry.due, context.deliveries.due, guest?.due ?? .max)
  }

  private func expire(now: Int64) {
    guard now >= context.enginesDue else { return }
    context.enginesDue = .max
    for engine in engines { engine.expire(now: now) }
  }

  private func takeCommands() {
    context.inbox.takeCommands(into: &commands)
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
      if let engine = job.reference.core, !isShuttingDown { engine.begin(job) } else { job.refuse(.shutDown) }
    case .cancel(let job): job.reference.core?.cancel(job)
    case .resumeReceiving(let job): job.reference.core?.exchanges[job.exchange]?.resumeReceiving()
    case .resumeSending(let job): job.reference.core?.exchanges[job.exchange]?.resumeSending()
    case .call(let body): body(self)
    case .shutDown(let cancelling):
      isShuttingDown = true
      guest?.shutDown()
      for engine in engines { engine.shutDown(cancelling: cancelling) }
    }
  }
}
