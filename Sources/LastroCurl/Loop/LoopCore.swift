// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroExchange

/// The event loop: everything libcurl is touched from here, on one thread.
///
/// A turn: wait for descriptors, the timer or a command; let the carriers and the streams act; take commands; expire
/// what is late; wake the tasks that have an answer. Callbacks only record; the loop acts, since libcurl refuses to be
/// called from within itself.
final class LoopCore {
  private static let wakeOwner = UInt32.max

  private let inbox: LoopInbox
  private let poller: Poller
  private let load: LoadCounter
  private let streams: StreamHub
  private let clock = LoopClock()
  private let deliveries = Deliveries()
  private let bodies = BodyBlockStore()
  private var bodiesExpiry = BodyBlockExpiry()
  private let transfers: TransferCarrier
  private let direct: DirectCarrier
  private var commands: [LoopCommand] = []
  private var isShuttingDown = false

  init(settings: LoopSettings, inbox: LoopInbox, poller: Poller, load: LoadCounter, streams: StreamHub) {
    self.inbox = inbox
    self.poller = poller
    self.load = load
    self.streams = streams
    let context = CarrierContext(settings: settings, load: load, clock: clock, deliveries: deliveries, bodies: bodies)
    transfers = TransferCarrier(context, poller: poller)
    direct = DirectCarrier(context, streams: streams)
  }

  func run() {
    poller.watchEdges(of: inbox.wakeDescriptor, owner: Self.wakeOwner)
    while !(isShuttingDown && transfers.isEmpty && direct.isEmpty && streams.isEmpty) { turn() }
    for command in inbox.close() {
      switch command {
      case .start(let job): refuse(job)
      case .stream(let command): streams.perform(command)
      default: break
      }
    }
    direct.tearDown()
    streams.tearDown()
    bodies.close()
    transfers.tearDown()
  }

  private func turn() {
    let limit = poller.hasLeft ? 0 : timeout()
    let sleeps = limit != 0 && inbox.prepareToSleep()
    poller.wait(timeout: sleeps ? limit : 0) { [clock, inbox] in
      clock.update()
      if sleeps { inbox.noteAwake() }
    } each: { ready in
      switch ready.owner {
      case Self.wakeOwner: break
      case DirectCarrier.descriptorOwner: direct.ready(ready)
      case StreamHub.firstShardOwner...: streams.ready(ready)
      default: transfers.ready(ready)
      }
    }
    // First what libcurl has finished: a command must not find, or cancel, a transfer that is over.
    transfers.finish()
    takeCommands()
    let now = clock.now
    transfers.turn(now: now)
    streams.turn(now: now)
    direct.turn()
    direct.expire(now: now)
    direct.settle()
    transfers.expire(now: now)
    bodiesExpiry.look(at: bodies, isBusy: load.value > 0, now: now)
    transfers.takeDisplaced()
    deliveries.handOver()
  }

  /// Milliseconds until something is due, rounded up so that nothing is woken early in a loop.
  private func timeout() -> Int32 {
    let due = min(transfers.due, direct.due, streams.due, bodiesExpiry.due)
    guard due < .max else { return -1 }
    let left = due - monotonicNow()
    return left <= 0 ? 0 : Int32(clamping: (left + 999_999) / 1_000_000)
  }

  private func takeCommands() {
    inbox.take(into: &commands)
    for command in commands { perform(command) }
    commands.removeAll(keepingCapacity: true)
  }

  private func perform(_ command: LoopCommand) {
    switch command {
    case .start(let job):
      if isShuttingDown { refuse(job) } else if !direct.begin(job) { transfers.begin(job) }
    case .cancel(let job): if direct.has(job) { direct.cancel(job) } else { transfers.cancel(job) }
    case .resumeReceiving(let job):
      if direct.has(job) { direct.resumeReceiving(job) } else { transfers.resumeReceiving(job) }
    case .resumeSending(let job):
      if direct.has(job) { direct.resumeSending(job) } else { transfers.resumeSending(job) }
    case .stream(let command): streams.perform(command)
    case .shutDown(let cancelling):
      isShuttingDown = true
      streams.shutDown()
      if cancelling {
        direct.cancelAll()
        transfers.cancelAll()
      }
    }
  }

  /// Ends a job that no carrier has seen.
  private func refuse(_ job: TransferJob) {
    load.end()
    job.finish(.shutDown, facts: nil)
  }
}
