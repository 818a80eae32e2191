// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// The exchanges and connections of an engine for one host (scheme, name, port) under one set of options.
///
/// A request is not bound to a dial: the first connection that is free takes the first request that waits. Where HTTP/2
/// may be spoken, all that wait share one dial until it is known what is. Thread: the loop's.
final class HostPool: DialOwner {
  /// The number of new dials for a request whose trust rules had changed. They do not change so often on
  /// purpose.
  static let mostRestarts = 16

  let key: HostKey
  let target: TrustTarget
  unowned let engine: HTTPEngine
  let options: SharedOptions
  /// Its latest answer's head.
  // Unchecked because the loop's thread alone touches it, and making a head calls nothing that comes back here.
  @exclusivity(unchecked) var heads = HeadMemory()
  /// Whether the server may be asked first if it wants a large body: one that did not answer once is not asked again.
  var mayExpect = true
  let route: Route
  // Unchecked because the loop's thread alone touches it, and writing a head calls nothing that comes back here.
  @exclusivity(unchecked) var common: CommonFields
  private(set) lazy var pool = HTTP2Pool(host: self)
  /// The HTTP versions of its connections.
  // Unchecked, as what follows, because the loop has this host alone, and changing it calls nothing of ours but what
  // reads it.
  @exclusivity(unchecked) var versions: HostVersions

  @exclusivity(unchecked) var waiting = ExchangeQueue() { didSet { countQueued() } }
  /// The number of waiting requests without a dial, as the engine counts them.
  private var queued = 0
  /// The latest used last: it is taken first, and the oldest come to their end.
  @exclusivity(unchecked) private(set) var idle: [HTTPConnection] = []
  /// Connections of HTTP/1.1 that an exchange has.
  @exclusivity(unchecked) private var runningCount = 0
  @exclusivity(unchecked) var draining: [Exchange] = []
  /// Dials on their way, with the loop to hear of them.
  var dials: Set<UInt64> = [] { didSet { countQueued() } }
  var dialBeganAt: Int64 = 0

  init(
    key: HostKey, target: TrustTarget, route: Route, options: SharedOptions,
    engine: HTTPEngine
  ) {
    self.key = key
    self.target = target
    self.options = options
    self.engine = engine
    self.route = route
    let limits = engine.settings.messages
    common = CommonFields(
      userAgent: limits.userAgent, sendsAccept: limits.sendsAccept, decompresses: limits.decompresses)
    // No proxy is known beforehand to speak HTTP/2.
    let mayBeHTTP2 = route.proxy == nil && engine.settings.offersHTTP2
    versions = HostVersions(mayBeHTTP2 ? options.options.httpVersion : .http1, isTLS: key.isTLS)
  }

  var isUnused: Bool {
    waiting.count == 0 && idle.isEmpty && runningCount == 0 && dials.isEmpty && pool.isEmpty
  }

  /// Returns the target of a request; `nil` if its authority cannot be read.
  func target(of job: EngineJob) -> TrustTarget? {
    route.proxy == nil ? target : TrustTarget(authority: job.request.head.authority ?? "", defaultPort: 80)
  }

  /// Whether requests that come now are most likely carried by HTTP/2.
  var expectsHTTP2: Bool { versions.sharesDials(now: engine.now) }

  private func countQueued() {
    let count = max(0, waiting.count - room)
    engine.noteQueued(count - queued)
    queued = count
  }

  /// The number of requests that the current dials will serve.
  private var room: Int {
    guard !dials.isEmpty, expectsHTTP2 else { return dials.count }
    return max(1, pool.roomOfNext)
  }

  /// Whether a request that comes now most likely goes out at once, and not with others: over HTTP/2 one call sends
  /// what is asked in a turn.
  var hasFreeConnection: Bool { waiting.count == 0 && (!idle.isEmpty || pool.running == 0 && pool.hasRoom) }

  /// Whether one more would have to wait for another to end.
  var isFull: Bool { idle.isEmpty && !pool.hasRoom && (waiting.count > room || !mayDial) }

  // MARK: Jobs

  /// Runs a job, or has it wait.
  func enter(_ exchange: Exchange, front: Bool = false) {
    guard exchange.state == .waiting else { return }
    if waiting.count == 0, let connection = pool.connectionWithRoom() { return run(exchange, on: connection) }
    // Beside idle connections wait none but those that want a fresh one.
    if !exchange.wantsFresh, let connection = takeIdle() { return run(exchange, on: connection) }
    wait(exchange, front: front)
    dialForWaiting()
    engine.noteExpiry(exchange.expiresAt)
  }

  private func wait(_ exchange: Exchange, front: Bool) {
    if front { waiting.prepend(exchange) } else { waiting.append(exchange) }
    if expectsHTTP2, !dials.isEmpty { limitWait(of: exchange) } else { limitWaits() }
  }

  /// Has it wait again, and be served when its host's turn comes.
  func waitAgain(_ exchange: Exchange) {
    wait(exchange, front: true)
    engine.noteExpiry(exchange.expiresAt)
    engine.noteService(self)
  }

  /// HTTP/2 streams may be free, or another connection wanted.
  func serveWaiting() {
    while waiting.count > 0, let connection = pool.connectionWithRoom(), let next = waiting.popFirst() {
      run(next, on: connection)
    }
    while waiting.count > 0, let connection = takeIdle() {
      guard let next = waiting.popFirst(isFresh: false) else { return release(connection) }
      run(next, on: connection)
    }
    dialForWaiting()
  }

  private func run(_ exchange: Exchange, on connection: HTTP2Multiplexer) {
    switch connection.start(exchange) {
    case .running: engine.noteExpiry(exchange.expiresAt)
    case .outdated:
      pool.retire(connection)
      waitAgain(exchange)
    case .failed(let error): engine.end(exchange, error)
    }
  }

  private func run(_ exchange: Exchange, on connection: HTTPConnection) {
    noteRunning(connection, true)
    switch start(exchange, on: connection) {
    case .running:
      engine.noteExpiry(exchange.expiresAt)
    case .outdated:
      forget(connection)
      restart(exchange)
    case .failed(let error):
      release(connection)
      engine.end(exchange, error)
    }
  }

  private func start(_ exchange: Exchange, on connection: HTTPConnection) -> Exchange.Start {
    connection.session?.start(exchange) ?? .outdated
  }

  private func restart(_ exchange: Exchange) {
    guard exchange.job.noteRestart() <= Self.mostRestarts else { return engine.end(exchange, .unsteadyTrust) }
    enter(exchange, front: true)
  }

  /// Has a request begin on another connection, of which nothing was sent on this one.
  func restartElsewhere(_ exchange: Exchange) {
    exchange.connection.map(forget)
    restartLater(exchange, orFail: .unsteadyTrust)
  }

  /// The link of an exchange is the caller's from here on.
  func handedOver(_ exchange: Exchange, _ stream: any ByteStream) {
    let facts = exchange.facts()
    exchange.noteOver()
    exchange.leaveConnection(nil)
    engine.answer(exchange, nil, facts: facts, upgraded: stream)
  }

  /// Has a request wait again of which nothing was sent.
  ///
  /// - Parameter error: why it fails where that was so again and again.
  func restartLater(_ exchange: Exchange, orFail error: TransportError) {
    exchange.rewind()
    guard exchange.job.noteRestart() <= Self.mostRestarts else { return engine.end(exchange, error) }
    waitAgain(exchange)
  }

  /// Notes that an exchange waits no longer: the queue skips it. Dials that no request wants are given up; the latest
  /// is the least far.
  func noteGone(_ exchange: Exchange) {
    waiting.noteGone()
    while dials.count > waiting.count, let latest = dials.max() {
      dials.remove(latest)
      engine.connector.cancelDial(latest)
    }
  }

  /// Ends an exchange, answers its job, and gives its connection to the next.
  func conclude(_ exchange: Exchange, _ failure: TransportError?) {
    let wasWaiting = exchange.state == .waiting
    let facts = exchange.facts()
    exchange.noteOver()
    if wasWaiting { noteGone(exchange) }
    if !draining.isEmpty { draining.removeAll { $0 === exchange } }
    exchange.leaveConnection(failure)
    engine.answer(exchange, failure, facts: facts)
  }

  /// A job is answered, and only the rest of its answer is read: its connection is given up where another job wants it.
  func noteDrain(_ exchange: Exchange) { draining.append(exchange) }

  // MARK: Connections

  /// An exchange has a connection, or has it no more.
  func noteRunning(_ connection: HTTPConnection, _ isRunning: Bool) {
    guard connection.isRunning != isRunning else { return }
    connection.isRunning = isRunning
    runningCount += isRunning ? 1 : -1
  }

  var connections: Int { runningCount + idle.count + dials.count + pool.count }

  /// The connection that was used last and is still fit to carry a request.
  private func takeIdle() -> HTTPConnection? {
    let engine = engine, now = engine.now
    while let connection = idle.popLast() {
      engine.noteBusy(connection)
      if connection.isClosed { continue }
      let isUnfit =
        engine.isTooOld(connection) || now >= connection.fitUntil
        || !connection.link.isCurrent
        || engine.context.withScratch { connection.hasUnsolicitedInput($0, isHeard: connection.isHeard) }
      if !isUnfit { return connection }
      connection.close()
    }
    return nil
  }

  /// A connection is free: the first request that waits has it.
  func release(_ connection: HTTPConnection) {
    let engine = engine
    noteRunning(connection, false)
    connection.noteFree(now: engine.now)
    // What came behind the answer is no answer to the next request.
    if !connection.isReadEmpty, waiting.count > 0, engine.context.withScratch({ connection.hasUnsolicitedInput($0) }) {
      connection.close()
      return dialForWaiting()
    }
    let mayServe = engine.settings.keepsIdle || connection.exchanges == 0
    while mayServe, isFit(connection), let first = waiting.popFirst(isFresh: connection.exchanges == 0) {
      limitWaits()
      noteRunning(connection, true)
      switch start(first, on: connection) {
      case .running: return engine.noteExpiry(first.expiresAt)
      case .outdated:
        forget(connection)
        return restart(first)
      case .failed(let error):
        noteRunning(connection, false)
        engine.end(first, error)
      }
    }
    guard engine.keepsIdle, isFit(connection) else {
      connection.close()
      return dialForWaiting()
    }
    connection.watch(read: true, write: false)
    idle.append(connection)
    engine.noteIdle(connection)
    // Those that wait want a fresh one.
    dialForWaiting()
  }

  private func isFit(_ connection: HTTPConnection) -> Bool {
    let engine = engine
    return !connection.isClosed && engine.now < connection.fitUntil && !engine.isTooOld(connection)
  }

  /// Closes a connection that no exchange uses any more.
  func forget(_ connection: HTTPConnection) {
    noteRunning(connection, false)
    connection.close()
  }

  /// Closes a connection that can carry no other exchange.
  func abandon(_ connection: HTTPConnection) {
    forget(connection)
    dialForWaiting()
  }

  /// Something came on an idle connection, be it its end.
  func idleConnectionStirred(_ connection: HTTPConnection) {
    guard engine.context.withScratch({ connection.hasUnsolicitedInput($0) }) else { return }
    removeIdle(connection)
  }

  func removeIdle(_ connection: HTTPConnection) {
    guard let index = idle.lastIndex(where: { $0 === connection }) else { return }
    idle.remove(at: index)
    engine.noteBusy(connection)
    connection.close()
  }

  // MARK: The end

  func tearDown() {
    pool.tearDown()
    waiting = ExchangeQueue()
    for connection in idle { removeIdle(connection) }
    dropDials()
  }

  /// Gives up all dials: no request is left for them.
  func dropDials() {
    for id in dials { engine.connector.cancelDial(id) }
    dials = []
  }
}
