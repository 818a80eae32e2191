// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import Lastro
internal import LastroSupport
package import LastroWire
internal import Synchronization

/// The face of an ``HTTPEngine``: any thread begins and ends jobs through it. When the last reference is gone, which
/// running jobs have too, the engine's connections are closed.
package final class EnginePort: Sendable {
  /// With more jobs under way the loop is awake anyway, and takes many at once.
  private static let few = 4

  package let loop: EventLoop
  package let settings: EngineSettings
  let engine: EngineReference
  private let options: SharedOptions

  /// Makes a port, whose engine is opened on the loop: by ``open(on:_:)`` or by the loop's preparation.
  ///
  /// - Parameter options: of requests that bring none.
  package init(on loop: EventLoop, _ settings: EngineSettings, options: SharedOptions, _ engine: EngineReference) {
    self.loop = loop
    self.settings = settings
    self.options = options
    self.engine = engine
  }

  deinit { _ = loop.post(.guest(EngineCommand.close(engine))) }

  /// Opens an engine on a loop that runs.
  ///
  /// - Parameter makeConnector: called on the loop's thread.
  package static func open(
    on loop: EventLoop, _ settings: EngineSettings, options: SharedOptions,
    _ makeConnector: @escaping @Sendable (LoopContext) -> any Connector
  ) -> EnginePort {
    let engine = EngineReference()
    _ = loop.post(.guest(EngineCommand.open(engine, settings, makeConnector)))
    return EnginePort(on: loop, settings, options: options, engine)
  }

  /// The jobs that were begun and have not ended.
  package var activeJobs: Int { engine.load.value }

  /// The connections that the engine has opened so far.
  package var openedConnections: Int { engine.openedConnections }

  /// Whether a connection is free for a request; false too while the loop is at work.
  ///
  /// - Parameter own: the options that the request brings, where they are others than the engine's.
  package func hasFreeConnection(for head: HTTPRequest, _ own: SharedOptions?) -> Bool {
    loop.seat.turnIfFree { [engine] _ in engine.core?.hasFreeConnection(for: head, own) ?? false } ?? false
  }

  /// Performs one exchange.
  ///
  /// - Parameters:
  ///   - own: the options that the request brings, where they are others than the engine's.
  ///   - asks: decides where the answer ends.
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

  /// Begins the job of a request. Apart from ``execute(_:own:asks:)``, whose frame would hold whatever this needs for
  /// as long as the request waits.
  private func begin(
    _ request: TransferRequest, _ own: SharedOptions?, _ asks: ResponseReader.Request
  ) throws(TransportError) -> EngineJob {
    if Task.isCancelled { throw .cancelled() }
    let job = EngineJob(
      request: request, asks: asks, options: own ?? options, usesDefaultOptions: own == nil, port: self)
    if !start(job) { job.finish(.shutDown, facts: nil) }
    return job
  }

  /// Begins a job, or queues it. False when the loop has ended.
  func start(_ job: EngineJob) -> Bool {
    let load = engine.load
    let isBegun = (loop.isCurrent || load.value < Self.few) && loop.seat.begin(job)
    guard isBegun || loop.post(.start(job)) else { return false }
    // Not before: what is counted has come before a shutdown that follows. The job may have ended already.
    load.begin()
    return true
  }

  /// Takes no more jobs, and returns when the running ones have ended and the idle connections are closed.
  ///
  /// - Parameter cancelling: whether running jobs are cancelled instead of awaited; so they are when the calling task
  ///   is.
  package func shutDown(cancelling: Bool) async {
    guard loop.post(.guest(EngineCommand.shutDown(engine, cancelling: cancelling))) else { return }
    await withTaskCancellationHandler {
      // In a task of its own: the cancellation of the caller does not end the wait.
      await Task { [engine] in _ = await engine.isFinished.wait { $0 } }.value
    } onCancel: {
      _ = loop.post(.guest(EngineCommand.shutDown(engine, cancelling: true)))
    }
  }
}

/// An ``HTTPEngine`` as other threads know it.
package final class EngineReference: Sendable {
  // Unchecked because only the loop's thread touches it.
  nonisolated(unsafe) var core: HTTPEngine?
  /// Jobs begun and not yet ended; read by transports to spread jobs over loops.
  package let load: LoadCounter
  /// The engines that it counts limits with; `nil` where it counts alone.
  let group: EngineGroup?
  /// Whether it was shut down, and all its jobs have ended.
  let isFinished = Watched(false)
  private let opened = Atomic<Int>(0)
  /// The time since which the oldest idle connection has been idle, or an earlier one; `.max` where there is none.
  private let oldestIdle = Atomic<Int64>(.max)
  private let isTrimming = Atomic<Bool>(false)

  /// Makes a reference to an engine that is yet to be opened.
  ///
  /// - Parameters:
  ///   - load: counts its jobs. Default: a counter of its own.
  ///   - group: the engines that it counts limits with. Default: none.
  package init(load: LoadCounter = LoadCounter(), in group: EngineGroup? = nil) {
    self.load = load
    self.group = group
  }

  var openedConnections: Int { opened.load(ordering: .relaxed) }
  var idleSince: Int64 { oldestIdle.load(ordering: .relaxed) }

  func noteOpened() { opened.add(1, ordering: .relaxed) }

  func noteIdle(since time: Int64?) { oldestIdle.store(time ?? .max, ordering: .relaxed) }

  /// Notes a connection that became idle.
  ///
  /// - Parameter count: the number of idle connections, with this one.
  func noteIdle(_ connection: HTTPConnection, count: Int) {
    guard let group else { return }
    if count == 1 { noteIdle(since: connection.idleSince) }
    group.noteIdle(1)
  }

  /// Notes that a connection is no longer idle.
  func noteBusy(idleCount: Int) {
    guard let group else { return }
    if idleCount == 0 { noteIdle(since: nil) }
    group.noteIdle(-1)
  }

  /// Whether a command to close idle connections must be posted: none is under way.
  func mustTrimIdle() -> Bool { !isTrimming.exchange(true, ordering: .acquiringAndReleasing) }

  func trimIdle() {
    isTrimming.store(false, ordering: .releasing)
    core?.limitIdle()
  }

  /// Ends the part of the engine in its group's limits.
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
  /// Closes idle connections that are too many.
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
  /// Adds an engine. To be called on the loop's thread.
  package func open(_ reference: EngineReference, _ settings: EngineSettings, _ connector: any Connector) {
    add(HTTPEngine(settings, connector, reference, context))
  }
}
