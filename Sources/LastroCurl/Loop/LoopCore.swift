// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP

/// The event loop: everything libcurl is touched from here, by one thread at a time (``LoopSeat``).
///
/// A turn: wait for descriptors, the timer or a command; let the carrier and the guests act; take commands; expire
/// what is late; wake the tasks that have an answer. Callbacks only record; the loop acts, since libcurl refuses to be
/// called from within itself.
final class LoopCore {
  private static let wakeOwner = UInt32.max

  private let inbox: LoopInbox
  private let poller: Poller
  private let load: LoadCounter
  private let guests: [any LoopGuest]
  private let clock = LoopClock()
  private let deliveries = Deliveries()
  private let bodies = BodyBlockStore()
  private var bodiesExpiry = BodyBlockExpiry()
  let direct: DirectCarrier
  private var commands: [LoopCommand] = []
  private var isShuttingDown = false
  /// Until when the loop's thread waits for descriptors, unless it is woken.
  private var waitsUntil: Int64 = 0
  private var sleeps = false
  /// The number of commands in the inbox that certainly came before the poller was last asked.
  private var earlyCommands = 0

  init(settings: LoopSettings, inbox: LoopInbox, poller: Poller, load: LoadCounter, dialing: StreamHub) {
    self.inbox = inbox
    self.poller = poller
    self.load = load
    guests = [dialing]
    let context = CarrierContext(settings: settings, load: load, clock: clock, deliveries: deliveries, bodies: bodies)
    direct = DirectCarrier(context, streams: dialing)
  }

  func open() { poller.watchEdges(of: inbox.wakeDescriptor, owner: Self.wakeOwner) }

  /// Returns the milliseconds that the loop's thread may wait for descriptors; negative: no limit; `nil`: it has ended.
  func nextWait() -> Int32? {
    if isShuttingDown, direct.isEmpty, guests.allSatisfy(\.isEmpty) { return nil }
    sleeps = false
    earlyCommands = 0
    if poller.hasLeft { return 0 }
    waitsUntil = due
    let limit = timeout(until: waitsUntil)
    guard limit != 0 else { return 0 }
    if let lying = inbox.prepareToSleep() {
      earlyCommands = lying
      return 0
    }
    sleeps = true
    return limit
  }

  func close() {
    for command in inbox.close() {
      switch command {
      case .start(let job): refuse(job)
      case .guest(let command): perform(command)
      default: break
      }
    }
    direct.tearDown()
    for guest in guests { guest.tearDown() }
    bodies.close()
  }

  /// - Parameter readyCount: what the poller's wait gave.
  func turn(_ readyCount: Int) {
    clock.update()
    let isWoken = sleeps && inbox.noteAwake()
    poller.handOver(readyCount) { ready in
      switch ready.owner {
      case Self.wakeOwner: if isWoken { earlyCommands = 1 }
      case DirectCarrier.descriptorOwner: direct.ready(ready)
      case let owner: guests.first { type(of: $0).owners.contains(owner) }?.ready(ready)
      }
    }
    if poller.hasLeft || !poller.isAll(readyCount) { earlyCommands = 0 }
    takeCommands()
    let now = clock.now
    for guest in guests { guest.turn(now: now) }
    direct.turn()
    direct.expire(now: now)
    direct.settle()
    bodiesExpiry.look(at: bodies, isBusy: load.value > 0, now: now)
    deliveries.handOver(now: now)
  }

  /// Begins a job on another thread than the loop's, which waits for descriptors. False: it is one for the loop's.
  func beginAside(_ job: TransferJob) -> Bool {
    guard !isShuttingDown, direct.beginAtOnce(job) else { return false }
    direct.settle()
    deliveries.handOver(now: clock.now)
    if due < waitsUntil { inbox.endSleep() }
    return true
  }

  private var due: Int64 {
    guests.reduce(min(direct.due, bodiesExpiry.due, deliveries.due)) { min($0, $1.due) }
  }

  /// Milliseconds until something is due, rounded up so that nothing is woken early in a loop.
  private func timeout(until due: Int64) -> Int32 {
    guard due < .max else { return -1 }
    let left = due - monotonicNow()
    return left <= 0 ? 0 : Int32(clamping: (left + 999_999) / 1_000_000)
  }

  private func takeCommands() {
    inbox.take(into: &commands)
    for (number, command) in commands.enumerated() {
      direct.hasLooked = number < earlyCommands
      perform(command)
    }
    direct.hasLooked = false
    commands.removeAll(keepingCapacity: true)
  }

  private func perform(_ command: LoopCommand) {
    switch command {
    case .start(let job):
      if isShuttingDown { refuse(job) } else { direct.begin(job) }
    case .cancel(let job): direct.cancel(job)
    case .resumeReceiving(let job): direct.resumeReceiving(job)
    case .resumeSending(let job): direct.resumeSending(job)
    case .guest(let command): perform(command)
    case .shutDown(let cancelling):
      isShuttingDown = true
      for guest in guests { guest.shutDown() }
      if cancelling { direct.cancelAll() }
    }
  }

  private func perform(_ command: any GuestCommand) {
    for guest in guests where guest.perform(command) { return }
  }

  /// Ends a job that the carrier has not seen.
  private func refuse(_ job: TransferJob) {
    load.end()
    job.finish(.shutDown, facts: nil)
  }
}
