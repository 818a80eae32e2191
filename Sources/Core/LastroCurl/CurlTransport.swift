// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import Lastro
internal import LastroHTTP
internal import LastroSupport
internal import LastroWire
internal import Synchronization

/// The engine: a `Transport` and `Dialer` over connections that libcurl opens, with one or more event-loop threads.
/// Lastro itself speaks HTTP on them.
///
/// It needs no shutdown: when the last reference has been released and the bodies in flight have ended, its threads end
/// and its connections are closed. To wait for that, call ``shutDown(cancelling:)``.
///
/// It may be called from any thread. Cancelling the calling task ends the transfer at once, at any stage.
package final class CurlTransport: Transport {
  /// An event loop, with its engines and the dialing below them.
  struct Loop: Sendable {
    let loop: EventLoop
    /// The engine for requests whose home is this loop.
    let port: EnginePort
    /// The engine for requests whose second choice is this loop; `nil` if all requests use their homes.
    let secondPort: EnginePort?
    /// The number of byte streams and datagram streams that have been dialed and not ended.
    let streams: LoadCounter

    /// Starts a loop.
    ///
    /// - Parameter group: the engines that share limits; `nil` for a single loop.
    init(_ settings: CurlSettings, _ group: EngineGroup?) throws(ConfigurationError) {
      let limits = group == nil ? nil : settings.engine.sharedByHomes
      let home = limits?.home ?? settings.engine
      let engine = EngineReference(in: group), streams = LoadCounter()
      let second = limits.map { (limits: $0.second, engine: EngineReference(load: engine.load, in: group)) }
      loop = try EventLoop { core, poller in
        let hub = StreamHub(settings: settings, context: core.context, poller: poller, load: streams)
        core.open(engine, home, CurlConnector(hub))
        if let second { core.open(second.engine, second.limits, CurlConnector(hub)) }
        return hub
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
  /// The proxies of requests without options of their own; `nil` if none of them forwards requests with whole URLs.
  let forwardProxies: ProxyResolver?
  let fileRevisions = TLSFileRevisions()

  package var connection: ConnectionOptions { settings.defaults.options }

  /// Starts the engine.
  ///
  /// - Parameter configuration: threads, connections, limits. Default `CurlConfiguration()`.
  /// - Throws: `ConfigurationError` for an invalid value, or if there are not enough threads or descriptors.
  package init(_ configuration: CurlConfiguration = CurlConfiguration()) throws(ConfigurationError) {
    let settings = try configuration.checked()
    self.settings = settings
    forwardProxies = settings.forwardProxies(for: settings.defaults.options)
    RetiredSettings.report()
    let group = configuration.loops > 1 ? EngineGroup() : nil
    var loops: [Loop] = []
    for _ in 0..<configuration.loops { loops.append(try Loop(settings, group)) }
    self.loops = loops
  }

  /// The number of transfers that have begun and not ended, including those that wait for a connection.
  package var activeTransfers: Int { loops.reduce(0) { $0 + max(0, $1.port.activeJobs) } }

  /// Performs one exchange.
  ///
  /// - Throws: `TransportError`; stage `cancelled`, code `shut_down`, after ``shutDown(cancelling:)``.
  package func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    if isShutDown.load(ordering: .relaxed) { throw .shutDown }
    let asks: ResponseReader.Request = request.head.method == .head ? .head : .ordinary
    let own = ownOptions(request.connection)
    return try await port(for: request, own).execute(request, own: own, asks: asks)
  }

  /// Returns the options of a request or a dial if they differ from the engine's. Egress rules and resolvers that they
  /// leave unset are taken from the engine's options.
  func ownOptions(_ brought: ConnectionOptions?) -> SharedOptions? {
    guard var own = brought else { return nil }
    if own.reach.egress == nil, let rules = connection.reach.egress { own.reach.egress = rules }
    if own.reach.names == nil, let names = connection.reach.names { own.reach.names = names }
    return own == connection ? nil : SharedOptions(own)
  }

  /// The executor of ``CurlNetworkStack/executor``.
  package var executor: any TaskExecutor { pickLoop().loop }

  /// Accepts no more requests, and returns when the running ones and the threads have ended.
  ///
  /// - Parameter cancelling: whether running requests are cancelled (code `shut_down`) instead of awaited. Default
  ///   false. Cancelling the calling task cancels them, too.
  package func shutDown(cancelling: Bool = false) async {
    isShutDown.store(true, ordering: .relaxed)
    for loop in loops { loop.loop.shutDown(cancelling: cancelling) }
    for loop in loops {
      await withTaskCancellationHandler {
        await loop.loop.waitUntilFinished()
      } onCancel: {
        loop.loop.shutDown(cancelling: true)
      }
    }
    await KeyLogFile.flush()
  }

  /// The number of HTTP connections that have been opened so far, without those of dialers.
  package var openedConnections: Int {
    loops.reduce(0) { $0 + $1.port.openedConnections + ($1.secondPort?.openedConnections ?? 0) }
  }

  /// The number of byte streams and datagram streams that are being dialed or open.
  package var activeStreams: Int { loops.reduce(0) { $0 + $1.streams.value } }

  /// Returns the loop for the next dial.
  func pickStreamLoop() throws(TransportError) -> Loop {
    if isShutDown.load(ordering: .relaxed) { throw .shutDown }
    return pickLoop { $0.streams.value }
  }

  /// Returns the calling thread's loop if there is one; otherwise the less loaded of the next two in turn.
  private func pickLoop(_ load: (Loop) -> Int = { $0.port.activeJobs }) -> Loop {
    if loops.count == 1 { return loops[0] }
    if let own = loops.first(where: \.loop.isCurrent) { return own }
    let first = turn.add(1, ordering: .relaxed).oldValue
    let one = loops[abs(first % loops.count)], other = loops[abs((first &+ 1) % loops.count)]
    return load(other) < load(one) ? other : one
  }
}

/// The distribution of requests over several loops.
extension CurlTransport {
  /// The lead in requests that a home must have over the second choice for the second choice to help out.
  static let mostAhead = 64

  /// Returns the engine for a request: that of its home, or the second choice's if the home has many more requests.
  ///
  /// A request of a task on the second choice's own thread stays there if a connection is free.
  ///
  /// - Parameter own: the options of the request, if they differ from the engine's.
  func port(for request: TransferRequest, _ own: SharedOptions?) -> EnginePort {
    if loops.count == 1 { return loops[0].port }
    let head = request.head
    let choice = HomeLoops(of: poolKey(of: head, own), among: loops.count)
    let home = loops[choice.home].port
    guard let second = loops[choice.second].secondPort else { return home }
    if home.activeJobs - second.activeJobs >= Self.mostAhead { return second }
    return second.loop.isCurrent && second.mayServeAtOnce(request, own) ? second : home
  }

  /// Returns the hash that identifies the connections that a request can share. The options are not part of it.
  func poolKey(of head: HTTPRequest, _ own: SharedOptions?) -> UInt64 {
    guard head.scheme != "https" else { return HomeLoops.key(ofOrigin: head) }
    let proxies = own.map { settings.forwardProxies(for: $0.options) } ?? forwardProxies
    guard let proxy = proxies?.forwardProxy(for: head.authority ?? "") else { return HomeLoops.key(ofOrigin: head) }
    return HomeLoops.key(ofProxy: proxy)
  }
}

extension CurlSettings {
  /// Returns the proxies of the options; `nil` if no request is sent to a forwarding proxy, which needs the whole URL.
  func forwardProxies(for options: ConnectionOptions) -> ProxyResolver? {
    guard options.proxy != .none, options.unixSocketPath == nil,
      let resolver = try? ProxyResolver(options.proxy, environment: environmentProxies), resolver.mayForward
    else { return nil }
    return resolver
  }
}

extension CurlTransport: SnapshotSource {
  package func snapshotParts() -> [StackSnapshot.Part] {
    PoolCounts.parts(of: loops.flatMap { [$0.port, $0.secondPort].compactMap(\.self) })
  }
}

extension CurlTransport {
  /// Performs ``CurlNetworkStack/warm(_:connections:connection:timeout:)`` for one server.
  func warm(
    _ url: String, connections: Int, connection: ConnectionOptions?, timeout: Duration
  ) async throws(TransportError) {
    if isShutDown.load(ordering: .relaxed) { throw .shutDown }
    try checkPositive(timeout)
    let request = TransferRequest(
      head: try ResourceRequest(url: url).head, connection: connection, connectTimeout: timeout, deadline: timeout)
    let own = ownOptions(request.connection)
    try await port(for: request, own).open(connections, toServerOf: request, own: own)
  }

  private func checkPositive(_ timeout: Duration) throws(TransportError) {
    guard timeout > .zero else {
      throw .refused(
        .invalidOption, "the timeout is \(timeout.brief), which is not positive", hint: "give a positive duration")
    }
  }

  /// Performs ``CurlNetworkStack/inspect(_:connection:timeout:)``.
  package func inspect(
    _ url: String, connection: ConnectionOptions? = nil, timeout: Duration = .seconds(10)
  ) async throws(TransportError) -> ServerTrust {
    let head = try ResourceRequest(url: url).head
    guard head.scheme == "https" else {
      throw .refused(.unsupportedScheme, "only https servers present a certificate", hint: "write https://HOST")
    }
    try checkPositive(timeout)
    guard let authority = head.authority, let target = TrustTarget(authority: authority, defaultPort: 443) else {
      throw .unreadableHost
    }
    let request = DialRequest(
      host: target.host.text, port: target.port, tls: .init(applicationProtocols: ["h2", "http/1.1"]),
      connection: connection, connectTimeout: timeout)
    let stream = try await openStream(.bytes, request)
    stream.close()
    guard let trust = stream.trust else { throw .unrecordedChain }
    return trust
  }
}

extension CurlTransport {
  /// Returns the engine, version, connection, proxy and trust of an exchange.
  package func explain(_ request: TransferRequest) -> [(name: String, value: String)] {
    let options = ownOptions(request.connection)?.options ?? connection
    let isForwarded =
      request.head.scheme != "https"
      && settings.forwardProxies(for: options)?.forwardProxy(for: request.head.authority ?? "") != nil
    return settings.engine.explain(
      request, over: CurlConnector.explain(request, with: options, settings), version: options.httpVersion,
      isForwarded: isForwarded
    ).map { (name: $0.name, value: $0.value) }
  }
}
