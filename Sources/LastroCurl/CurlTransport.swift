// SPDX-License-Identifier: Apache-2.0

internal import CLastro
public import Lastro
internal import LastroHTTP
internal import LastroWire
internal import Synchronization

/// The engine: a `Transport` over connections that libcurl opens, with one event-loop thread or several.
/// Lastro itself speaks HTTP on them.
///
/// ```swift
/// let engine = try CurlTransport(CurlConfiguration(pins: [policy]))
/// let stack = TransportNetworkStack(transport: engine)
/// ```
///
/// It cleans up by itself: when the last reference is gone, and the bodies still being read have ended, its threads end
/// and its connections are closed. To wait for that, call ``shutDown(cancelling:)``.
///
/// Any thread may call it. Cancelling the calling task ends the transfer at whatever stage it is, at once.
public final class CurlTransport: Transport {
  private let loops: [EventLoop]
  private let turn = Atomic<Int>(0)
  private let isShutDown = Atomic<Bool>(false)
  private let shared: SharedOptions
  var sharedOptions: SharedOptions { shared }
  private let streamBufferBytes: Int
  let settings: LoopSettings
  let fileRevisions = TLSFileRevisions()

  package var connection: ConnectionOptions { shared.options }

  /// Starts the engine.
  ///
  /// - Parameter configuration: threads, connections, limits. Default `CurlConfiguration()`.
  /// - Throws: `ConfigurationError` for a value that cannot work, or when threads or descriptors ran out.
  public init(_ configuration: CurlConfiguration = CurlConfiguration()) throws(ConfigurationError) {
    var configuration = configuration
    configuration.connection = try configuration.pinnedConnection()
    let settings = try configuration.checked()
    shared = SharedOptions(configuration.connection)
    self.settings = settings
    RetiredSettings.report()
    streamBufferBytes = configuration.streamBufferBytes
    var loops: [EventLoop] = []
    for _ in 0..<configuration.loops { loops.append(try EventLoop(settings: settings)) }
    self.loops = loops
  }

  /// Transfers begun and not yet ended, those that wait for a connection included.
  public var activeTransfers: Int { loops.reduce(0) { $0 + max(0, $1.load.value) } }

  /// Performs one exchange.
  ///
  /// - Throws: `TransportError`; stage `cancelled`, code `shut_down`, after ``shutDown(cancelling:)``.
  public func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let job = try begin(request)
    await withTaskCancellationHandler {
      await job.wait()
    } onCancel: {
      job.cancel()
    }
    return try job.takeAnswer()
  }

  /// The options that a request or a dial brings, where they are others than the engine's. What they do not say of
  /// addresses and resolvers, the engine's say.
  func ownOptions(_ brought: ConnectionOptions?) -> SharedOptions? {
    guard var own = brought else { return nil }
    if own.reach.egress == nil, let rules = connection.reach.egress { own.reach.egress = rules }
    if own.reach.names == nil, let names = connection.reach.names { own.reach.names = names }
    return own == connection ? nil : SharedOptions(own)
  }

  /// Begins the job of a request. Apart from ``execute(_:)``, whose frame would hold whatever this needs for as long as
  /// the request waits.
  private func begin(_ request: TransferRequest) throws(TransportError) -> TransferJob {
    if isShutDown.load(ordering: .relaxed) { throw .shutDown }
    if Task.isCancelled { throw .cancelled() }
    let own = ownOptions(request.connection)
    let job = TransferJob(
      request: request, options: own ?? shared, usesDefaultOptions: own == nil, loop: pickLoop(),
      streamBufferBytes: streamBufferBytes)
    if !job.loop.start(job) { job.finish(.shutDown, facts: nil) }
    return job
  }

  /// Runs tasks on the thread of an event loop, so that a request takes no way over another thread. For tasks that do
  /// little but fetch, one after the other or many at a time; nothing runs there unless it is asked for.
  ///
  /// ```swift
  /// try await withTaskExecutorPreference(stack.executor) {
  ///   for page in pages { try await store.add(stack.fetch(page).value) }
  /// }
  /// ```
  ///
  /// The thread has all the engine's connections: what a task does between two `await` holds up every request, deadline
  /// and handshake of that loop. So nothing may block there (locks that are held for long, files, `getaddrinfo`, a
  /// semaphore), and what computes for more than some 100 µs belongs elsewhere: hooks of interceptors, decoding of
  /// large bodies, work of your own. `withTaskExecutorPreference(globalConcurrentExecutor)` leaves it. A task that
  /// waits holds up nothing.
  ///
  /// It may outlive the engine, whose thread lives as long as it has one. After ``shutDown(cancelling:)`` its tasks run
  /// on Swift's own threads. With several loops each look gives another's.
  public var executor: any TaskExecutor { pickLoop() }

  /// Takes no more requests, and returns when the running ones have ended and the threads are gone.
  ///
  /// - Parameter cancelling: whether running requests are cancelled (code `shut_down`) instead of awaited. Default
  ///   false. Cancelling the calling task cancels them, too.
  public func shutDown(cancelling: Bool = false) async {
    isShutDown.store(true, ordering: .relaxed)
    for loop in loops { _ = loop.post(.shutDown(cancelling: cancelling)) }
    for loop in loops {
      await withTaskCancellationHandler {
        await loop.waitUntilFinished()
      } onCancel: {
        _ = loop.post(.shutDown(cancelling: true))
      }
    }
    await KeyLogWriter.flush()
  }

  /// Byte streams and datagrams dialed or open.
  var activeStreams: Int { loops.reduce(0) { $0 + $1.streams.value } }

  /// Connections for HTTP, dialed or standing, in which libcurl has a part.
  var connectionsOfLibcurl: Int { loops.reduce(0) { $0 + ($1.seat.turn { $0.direct.connectionsOfLibcurl } ?? 0) } }

  /// The loop for the next dial.
  func pickStreamLoop() throws(TransportError) -> EventLoop {
    if isShutDown.load(ordering: .relaxed) { throw .shutDown }
    return pickLoop { $0.streams.value }
  }

  private func pickLoop(_ load: (EventLoop) -> Int = { $0.load.value }) -> EventLoop {
    if loops.count == 1 { return loops[0] }
    if let own = loops.first(where: \.isCurrent) { return own }
    let first = turn.add(1, ordering: .relaxed).oldValue
    let one = loops[abs(first % loops.count)], other = loops[abs((first &+ 1) % loops.count)]
    return load(other) < load(one) ? other : one
  }
}
