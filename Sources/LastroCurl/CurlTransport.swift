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
/// It needs no clean-up: when the last reference is gone, and the bodies still being read have ended, its threads end
/// and its connections are closed. To wait for that, call ``shutDown(cancelling:)``.
///
/// Any thread may call it. Cancelling the calling task ends the transfer at whatever stage it is, at once.
public final class CurlTransport: Transport {
  /// An event loop, with its engines and the dialing below them.
  struct Loop: Sendable {
    let loop: EventLoop
    /// The engine for the requests whose home the loop is.
    let port: EnginePort
    /// The engine for the requests whose second choice the loop is; `nil` where all go to their homes.
    let secondPort: EnginePort?
    /// Byte streams and datagrams dialed and not yet over.
    let streams: LoadCounter

    /// - Parameter group: the engines that limits are counted with; `nil` for the only loop.
    init(_ settings: CurlSettings, _ group: EngineGroup?) throws(ConfigurationError) {
      let limits = group == nil ? nil : settings.engine.sharedByHomes
      let home = limits?.home ?? settings.engine
      let engine = EngineReference(in: group), streams = LoadCounter()
      let second = limits.map { (limits: $0.second, engine: EngineReference(load: engine.load, in: group)) }
      loop = try EventLoop { core, poller in
        let hub = StreamHub(settings: settings, context: core.context, poller: poller, load: streams)
        core.add(hub)
        core.open(engine, home, CurlConnector(hub))
        if let second { core.open(second.engine, second.limits, CurlConnector(hub)) }
      }
      port = EnginePort(on: loop, home, options: settings.defaults, engine)
      secondPort = second.map { [loop] in EnginePort(on: loop, $0.limits, options: settings.defaults, $0.engine) }
      self.streams = streams
    }
  }

  let loops: [Loop]
  private let turn = Atomic<Int>(0)
  private let isShutDown = Atomic<Bool>(false)
  let settings: CurlSettings
  /// The proxies of requests that bring no options; `nil` where none is given requests with their whole URLs.
  let forwardProxies: ProxyResolver?
  let fileRevisions = TLSFileRevisions()

  package var connection: ConnectionOptions { settings.defaults.options }

  /// Starts the engine.
  ///
  /// - Parameter configuration: threads, connections, limits. Default `CurlConfiguration()`.
  /// - Throws: `ConfigurationError` for a value that cannot work, or when threads or descriptors ran out.
  public init(_ configuration: CurlConfiguration = CurlConfiguration()) throws(ConfigurationError) {
    var configuration = configuration
    configuration.connection = try configuration.pinnedConnection()
    let settings = try configuration.checked()
    self.settings = settings
    forwardProxies = settings.forwardProxies(for: settings.defaults.options)
    RetiredSettings.report()
    let group = configuration.loops > 1 ? EngineGroup() : nil
    var loops: [Loop] = []
    for _ in 0..<configuration.loops { loops.append(try Loop(settings, group)) }
    self.loops = loops
  }

  /// Transfers begun and not yet ended, those that wait for a connection included.
  public var activeTransfers: Int { loops.reduce(0) { $0 + max(0, $1.port.activeJobs) } }

  /// Performs one exchange.
  ///
  /// - Throws: `TransportError`; stage `cancelled`, code `shut_down`, after ``shutDown(cancelling:)``.
  public func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    if isShutDown.load(ordering: .relaxed) { throw .shutDown }
    let asks: ResponseReader.Request = request.head.method == .head ? .head : .ordinary
    let own = ownOptions(request.connection)
    return try await port(for: request, own).execute(request, own: own, asks: asks)
  }

  /// The options that a request or a dial brings, where they are others than the engine's. What they do not say of
  /// addresses and resolvers, the engine's say.
  func ownOptions(_ brought: ConnectionOptions?) -> SharedOptions? {
    guard var own = brought else { return nil }
    if own.reach.egress == nil, let rules = connection.reach.egress { own.reach.egress = rules }
    if own.reach.names == nil, let names = connection.reach.names { own.reach.names = names }
    return own == connection ? nil : SharedOptions(own)
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
  /// on Swift's own threads.
  ///
  /// With several loops, each access returns the executor of another one. A request still runs on the loop that has the
  /// connections to its host, unless a connection is idle on the task's own.
  public var executor: any TaskExecutor { pickLoop().loop }

  /// Takes no more requests, and returns when the running ones have ended and the threads are gone.
  ///
  /// - Parameter cancelling: whether running requests are cancelled (code `shut_down`) instead of awaited. Default
  ///   false. Cancelling the calling task cancels them, too.
  public func shutDown(cancelling: Bool = false) async {
    isShutDown.store(true, ordering: .relaxed)
    for loop in loops { loop.loop.shutDown(cancelling: cancelling) }
    for loop in loops {
      await withTaskCancellationHandler {
        await loop.loop.waitUntilFinished()
      } onCancel: {
        loop.loop.shutDown(cancelling: true)
      }
    }
    await KeyLogWriter.flush()
  }

  /// The connections for HTTP that were opened so far; those of dialers do not count.
  package var openedConnections: Int {
    loops.reduce(0) { $0 + $1.port.openedConnections + ($1.secondPort?.openedConnections ?? 0) }
  }

  /// Byte streams and datagrams dialed or open.
  var activeStreams: Int { loops.reduce(0) { $0 + $1.streams.value } }

  /// Connections for HTTP, dialed or standing, in which libcurl has a part.
  var connectionsOfLibcurl: Int {
    loops.reduce(0) { count, loop in
      count + (loop.loop.seat.turn { $0.guest(StreamHub.self)?.takers.count ?? 0 } ?? 0)
    }
  }

  /// The loop for the next dial.
  func pickStreamLoop() throws(TransportError) -> Loop {
    if isShutDown.load(ordering: .relaxed) { throw .shutDown }
    return pickLoop { $0.streams.value }
  }

  /// The calling thread's loop, else by turns the less loaded of two.
  private func pickLoop(_ load: (Loop) -> Int = { $0.port.activeJobs }) -> Loop {
    if loops.count == 1 { return loops[0] }
    if let own = loops.first(where: \.loop.isCurrent) { return own }
    let first = turn.add(1, ordering: .relaxed).oldValue
    let one = loops[abs(first % loops.count)], other = loops[abs((first &+ 1) % loops.count)]
    return load(other) < load(one) ? other : one
  }
}
