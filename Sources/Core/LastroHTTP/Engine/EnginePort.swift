// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport
package import LastroWire
internal import Synchronization

/// The handle of an ``HTTPEngine``, through which any thread begins and ends jobs. Running jobs hold a reference to it.
/// When the last reference is released, the engine's connections are closed.
package final class EnginePort: Sendable {
  /// The number of running jobs from which on other threads queue their jobs: the loop is awake anyway then, and takes
  /// many at once.
  private static let few = 4

  package let loop: EventLoop
  package let settings: EngineSettings
  let reference: EngineReference
  let options: SharedOptions

  /// Creates the handle of an engine that is opened on the loop, by `open(on:_:options:_:)` or by the loop's preparation.
  ///
  /// - Parameter options: the options of requests that have none of their own.
  package init(
    on loop: EventLoop, _ settings: EngineSettings, options: SharedOptions, _ reference: EngineReference
  ) {
    self.loop = loop
    self.settings = settings
    self.options = options
    self.reference = reference
  }

  deinit {
    _ = loop.inbox.perform { [reference] core in
      if let engine = reference.core { core.remove(engine) }
    }
  }

  /// Opens an engine on a running loop.
  ///
  /// - Parameter makeConnector: creates the connector. It is called on the loop's thread.
  package static func open(
    on loop: EventLoop, _ settings: EngineSettings, options: SharedOptions,
    _ makeConnector: @escaping @Sendable (LoopContext) -> any Connector
  ) -> EnginePort {
    let reference = EngineReference()
    _ = loop.inbox.perform { core in core.open(reference, settings, makeConnector(core.context)) }
    return EnginePort(on: loop, settings, options: options, reference)
  }

  /// The number of jobs that have begun and not ended.
  package var activeJobs: Int { reference.load.value }

  /// The number of connections that the engine has opened so far.
  package var openedConnections: Int { reference.openedConnections }

  /// Returns whether an open connection can serve a request at once. Returns false, too, while the loop is in a turn.
  ///
  /// - Parameter own: the options of the request, if they differ from the engine's.
  package func mayServeAtOnce(_ request: TransferRequest, _ own: SharedOptions?) -> Bool {
    loop.seat.withLockIfFree { [reference] core in
      core != nil && reference.core?.mayServeAtOnce(request, own) == true
    } ?? false
  }

  /// Returns the counts of each host that has connections or requests. Waits for the end of the loop's turn, except on
  /// the loop's own thread, where it returns nothing within a turn.
  func poolCounts() -> [(host: String, counts: PoolCounts)] {
    let read = { @Sendable [reference] (core: inout LoopCore?) in core == nil ? [] : reference.core?.poolCounts() ?? []
    }
    return loop.isCurrent ? loop.seat.withLockIfFree(read) ?? [] : loop.seat.withLock(read)
  }

  /// Performs one exchange.
  ///
  /// - Parameters:
  ///   - own: the options of the request, if they differ from the engine's.
  ///   - asks: the rule that determines where the response ends.
  package func execute(
    _ request: TransferRequest, own: SharedOptions?, asks: ResponseReader.Request
  ) async throws(TransportError) -> TransferResponse {
    let job = try startJob(request, own, asks)
    await withTaskCancellationHandler {
      await job.answer.wait()
    } onCancel: {
      job.cancel()
    }
    return try job.takeAnswer()
  }

  /// Opens connections to the server of a request, which is not sent, until so many are open. One HTTP/2 connection is
  /// enough. Returns when all dials have ended.
  ///
  /// - Parameters:
  ///   - count: the number of connections, at least 1.
  ///   - own: the options of the connections, if they differ from the engine's.
  /// - Throws: the error of the first dial that failed.
  package func open(
    _ count: Int, toServerOf request: TransferRequest, own: SharedOptions?
  ) async throws(TransportError) {
    let most = min(settings.connectionsPerHost, settings.idleConnections)
    guard count >= 1, count <= most else { throw .cannotKeepOpen(count, most: most) }
    if Task.isCancelled { throw .cancelled() }
    let jobs = (1...count).map {
      EngineJob(request: request, asks: .ordinary, own: own, port: self, wantedConnections: $0)
    }
    for job in jobs where !start(job) { job.finish(.shutDown, facts: nil) }
    await withTaskCancellationHandler {
      for job in jobs { await job.answer.wait() }
    } onCancel: {
      for job in jobs { job.cancel() }
    }
    for job in jobs { _ = try job.takeAnswer() }
  }

  /// Begins the job of a request. It is separate from ``execute(_:own:asks:)``, whose frame would otherwise hold its
  /// temporary values for as long as the request waits.
  private func startJob(
    _ request: TransferRequest, _ own: SharedOptions?, _ asks: ResponseReader.Request
  ) throws(TransportError) -> EngineJob {
    if Task.isCancelled { throw .cancelled() }
    let job = EngineJob(request: request, asks: asks, own: own, port: self)
    if !start(job) { job.finish(.shutDown, facts: nil) }
    return job
  }

  /// Begins a job, or queues it. Returns false if the loop has ended.
  func start(_ job: EngineJob) -> Bool {
    let load = reference.load
    let mayBegin = loop.isCurrent || load.value < Self.few
    let isBegun = mayBegin && loop.seat.withLockIfFree { $0?.beginAside(job) == true } == true
    guard isBegun || loop.inbox.post(.start(job)) else { return false }
    // The job is counted last, so that a counted job precedes any later shutdown. The job may have ended already.
    load.increment()
    return true
  }

  /// Stops accepting jobs, and returns when the running ones have ended and the idle connections are closed.
  ///
  /// - Parameter cancelling: whether running jobs are cancelled instead of awaited. They are also cancelled when the
  ///   calling task is cancelled.
  package func shutDown(cancelling: Bool) async {
    guard beginShutdown(cancelling: cancelling) else { return }
    await withTaskCancellationHandler {
      // This runs in a task of its own, so that cancelling the caller does not end the wait.
      await Task { [reference] in _ = await reference.isFinished.wait { $0 } }.value
    } onCancel: {
      _ = beginShutdown(cancelling: true)
    }
  }

  /// Makes the loop shut the engine down. Returns false if the loop has ended.
  private func beginShutdown(cancelling: Bool) -> Bool {
    loop.inbox.perform { [reference] _ in reference.core?.shutDown(cancelling: cancelling) }
  }
}

/// A reference to an ``HTTPEngine`` for other threads.
package final class EngineReference: Sendable {
  // Unchecked because only the loop's thread accesses it.
  nonisolated(unsafe) var core: HTTPEngine?
  /// The number of jobs that have begun and not ended. Transports read it to distribute jobs over loops.
  package let load: LoadCounter
  /// The engines that share limits with this one; `nil` if there are none.
  let group: EngineGroup?
  /// Whether the engine was shut down and all its jobs have ended.
  let isFinished = Watched(false)
  private let opened = Atomic<Int>(0)
  /// The time since which the oldest idle connection has been idle, or an earlier time; `.max` if no connection is
  /// idle.
  private let oldestIdle = Atomic<Int64>(.max)
  private let isTrimming = Atomic<Bool>(false)

  /// Creates a reference to an engine that is opened later.
  ///
  /// - Parameters:
  ///   - load: counts its jobs. Default: a new counter.
  ///   - group: the engines that share limits with it. Default: none.
  package init(load: LoadCounter = LoadCounter(), in group: EngineGroup? = nil) {
    self.load = load
    self.group = group
  }

  var openedConnections: Int { opened.load(ordering: .relaxed) }
  var idleSince: Int64 { oldestIdle.load(ordering: .relaxed) }

  func countOpened() { opened.add(1, ordering: .relaxed) }

  func publishIdle(since time: Int64?) { oldestIdle.store(time ?? .max, ordering: .relaxed) }

  /// Returns whether a command to close idle connections must be posted, because none is pending.
  func mustTrimIdle() -> Bool { !isTrimming.exchange(true, ordering: .acquiringAndReleasing) }

  func trimIdle() {
    isTrimming.store(false, ordering: .releasing)
    core?.limitIdle()
  }

  /// Removes the engine and its numbers from its group.
  func leaveGroup(queued: Int, idle: Int) {
    group?.leave(self)
    group?.countQueued(-queued)
    group?.countIdle(-idle)
    publishIdle(since: nil)
  }
}
