// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
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
  private let options: SharedOptions

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

  deinit { _ = loop.post(.guest(EngineCommand.close(reference))) }

  /// Opens an engine on a running loop.
  ///
  /// - Parameter makeConnector: creates the connector. It is called on the loop's thread.
  package static func open(
    on loop: EventLoop, _ settings: EngineSettings, options: SharedOptions,
    _ makeConnector: @escaping @Sendable (LoopContext) -> any Connector
  ) -> EnginePort {
    let reference = EngineReference()
    _ = loop.post(.guest(EngineCommand.open(reference, settings, makeConnector)))
    return EnginePort(on: loop, settings, options: options, reference)
  }

  /// The number of jobs that have begun and not ended.
  package var activeJobs: Int { reference.load.value }

  /// The number of connections that the engine has opened so far.
  package var openedConnections: Int { reference.openedConnections }

  /// Returns whether an open connection can serve a request at once. Returns false, too, while the loop is in a turn.
  ///
  /// - Parameter own: the options of the request, if they differ from the engine's.
  package func mayServeAtOnce(_ head: HTTPRequest, _ own: SharedOptions?) -> Bool {
    loop.seat.turnIfFree { [reference] _ in reference.core?.mayServeAtOnce(head, own) ?? false } ?? false
  }

  /// Performs one exchange.
  ///
  /// - Parameters:
  ///   - own: the options of the request, if they differ from the engine's.
  ///   - asks: the rule that determines where the response ends.
  package func execute(
    _ request: TransferRequest, own: SharedOptions?, asks: ResponseReader.Request
  ) async throws(TransportError) -> TransferResponse {
    let job = try begin(request, own, asks)
    await withTaskCancellationHandler {
      await job.wait()
    } onCancel: {
      job.cancel()
    }
    return try job.takeAnswer()
  }

  /// Begins the job of a request. It is separate from ``execute(_:own:asks:)``, whose frame would otherwise hold its
  /// temporary values for as long as the request waits.
  private func begin(
    _ request: TransferRequest, _ own: SharedOptions?, _ asks: ResponseReader.Request
  ) throws(TransportError) -> EngineJob {
    if Task.isCancelled { throw .cancelled() }
    let job = EngineJob(
      request: request, asks: asks, options: own ?? options, usesDefaultOptions: own == nil, port: self)
    if !start(job) { job.finish(.shutDown, facts: nil) }
    return job
  }

  /// Begins a job, or queues it. Returns false if the loop has ended.
  func start(_ job: EngineJob) -> Bool {
    let load = reference.load
    let isBegun = (loop.isCurrent || load.value < Self.few) && loop.seat.turnIfFree { $0.beginAside(job) } == true
    guard isBegun || loop.post(.start(job)) else { return false }
    // The job is counted last, so that a counted job precedes any later shutdown. The job may have ended already.
    load.begin()
    return true
  }

  /// Stops accepting jobs, and returns when the running ones have ended and the idle connections are closed.
  ///
  /// - Parameter cancelling: whether running jobs are cancelled instead of awaited. They are also cancelled when the
  ///   calling task is cancelled.
  package func shutDown(cancelling: Bool) async {
    guard loop.post(.guest(EngineCommand.shutDown(reference, cancelling: cancelling))) else { return }
    await withTaskCancellationHandler {
      // This runs in a task of its own, so that cancelling the caller does not end the wait.
      await Task { [reference] in _ = await reference.isFinished.wait { $0 } }.value
    } onCancel: {
      _ = loop.post(.guest(EngineCommand.shutDown(reference, cancelling: true)))
    }
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

  func noteOpened() { opened.add(1, ordering: .relaxed) }

  func noteIdle(since time: Int64?) { oldestIdle.store(time ?? .max, ordering: .relaxed) }

  /// Records that a connection became idle.
  ///
  /// - Parameter count: the number of idle connections, including this one.
  func noteIdle(_ connection: HTTPConnection, count: Int) {
    guard let group else { return }
    if count == 1 { noteIdle(since: connection.idleSince) }
    group.noteIdle(1)
  }

  /// Records that a connection is no longer idle.
  func noteBusy(idleCount: Int) {
    guard let group else { return }
    if idleCount == 0 { noteIdle(since: nil) }
    group.noteIdle(-1)
  }

  /// Returns whether a command to close idle connections must be posted, because none is pending.
  func mustTrimIdle() -> Bool { !isTrimming.exchange(true, ordering: .acquiringAndReleasing) }

  func trimIdle() {
    isTrimming.store(false, ordering: .releasing)
    core?.limitIdle()
  }

  /// Removes the engine and its numbers from its group.
  func leaveGroup(queued: Int, idle: Int) {
    group?.leave(self)
    group?.noteQueued(-queued)
    group?.noteIdle(-idle)
    noteIdle(since: nil)
  }
}

/// A command for an engine as a whole.
enum EngineCommand: GuestCommand {
  case open(EngineReference, EngineSettings, @Sendable (LoopContext) -> any Connector)
  case shutDown(EngineReference, cancelling: Bool)
  case close(EngineReference)
  /// Closes the idle connections that exceed the limit.
  case trimIdle(EngineReference)

  func perform(on loop: LoopCore) {
    switch self {
    case .open(let reference, let settings, let makeConnector):
      loop.open(reference, settings, makeConnector(loop.context))
    case .shutDown(let reference, let cancelling): reference.core?.shutDown(cancelling: cancelling)
    case .close(let reference):
      if let engine = reference.core { loop.remove(engine) }
    case .trimIdle(let reference): reference.trimIdle()
    }
  }
}

extension LoopCore {
  /// Adds an engine. Must be called on the loop's thread.
  package func open(_ reference: EngineReference, _ settings: EngineSettings, _ connector: any Connector) {
    add(HTTPEngine(settings, connector, reference, context))
  }
}
