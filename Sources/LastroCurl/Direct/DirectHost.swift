// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroHTTP
internal import LastroWire

/// The direct carrier's exchanges and connections for one host (scheme, name, port) under one set of options.
///
/// A request is not bound to a dial: the first connection that is free takes the first request that waits. Where HTTP/2
/// may be spoken, all that wait share one dial until it is known what is. Thread: the loop's.
final class DirectHost: DialTaker {
  /// A request that came when the trust rules had changed is dialed for anew. They do not change so often on
  /// purpose.
  private static let mostRestarts = 16

  let key: HostKey
  let target: TrustTarget
  unowned let carrier: DirectCarrier
  let options: SharedOptions
  let usesDefaultOptions: Bool
  /// Its latest answer's head.
  // Unchecked because the loop's thread alone touches it, and making a head calls nothing that comes back here.
  @exclusivity(unchecked) var heads = HeadMemory()
  /// Whether the server may be asked first if it wants a large body: one that did not answer once is not asked again.
  var mayExpect = true
  /// The options and the trust that its latest connection was dialed under.
  @exclusivity(unchecked) var profile: StreamProfile?
  private var sessions: SessionShare?
  private var sessionsProfile: UInt64?
  /// The forward proxy that gets all requests, whatever their hosts; `nil` for none.
  let forward: ForwardProxy?
  // Unchecked because the loop's thread alone touches it, and writing a head calls nothing that comes back here.
  @exclusivity(unchecked) var common: CommonFields
  private(set) lazy var pool = HTTP2Pool(host: self)
  /// The HTTP versions of its connections.
  // Unchecked, as what follows, because the loop has this host alone, and changing it calls nothing of ours but what
  // reads it.
  @exclusivity(unchecked) var versions: HostVersions

  @exclusivity(unchecked) var waiting = ExchangeQueue() { didSet { countQueued() } }
  /// The number of waiting requests without a dial, as the carrier counts them.
  private var queued = 0
  /// The latest used last: it is taken first, and the oldest come to their end.
  @exclusivity(unchecked) private(set) var idle: [DirectConnection] = []
  /// Connections of HTTP/1.1 that an exchange has.
  @exclusivity(unchecked) private var runningCount = 0
  @exclusivity(unchecked) var draining: [DirectExchange] = []
  /// Dials on their way, with the loop to hear of them.
  var dials: Set<UInt64> = [] { didSet { countQueued() } }
  var dialBeganAt: Int64 = 0

  init(
    key: HostKey, target: TrustTarget, forward: ForwardProxy?, options: SharedOptions, usesDefaultOptions: Bool,
    carrier: DirectCarrier
  ) {
    self.key = key
    self.target = target
    self.options = options
    self.usesDefaultOptions = usesDefaultOptions
    self.carrier = carrier
    self.forward = forward
    let limits = carrier.settings.transfer
    common = CommonFields(
      userAgent: limits.userAgent, sendsAccept: limits.sendsAccept, decompresses: limits.decompresses)
    // No proxy is known beforehand to speak HTTP/2.
    versions = HostVersions(forward == nil ? options.options.httpVersion : .http1, isTLS: key.isTLS)
  }

  var isUnused: Bool {
    waiting.count == 0 && idle.isEmpty && runningCount == 0 && dials.isEmpty && pool.isEmpty
  }

  /// TLS sessions prove nothing under other roots or rules than those that they were agreed on under, and name the
  /// client by the certificate that it had then: those of another profile are not resumed.
  func sessions(for profile: StreamProfile) -> SessionShare? {
    guard key.isTLS || forward?.isTLS == true else { return nil }
    if sessionsProfile != profile.id {
      sessionsProfile = profile.id
      sessions = SessionShare()
    }
    return sessions
  }

  /// Returns the target of a request; `nil` if its authority cannot be read.
  func target(of job: TransferJob) -> TrustTarget? {
    forward == nil ? target : TrustTarget(authority: job.request.head.authority ?? "", defaultPort: 80)
  }

  /// Whether requests that come now are most likely carried by HTTP/2.
  var expectsHTTP2: Bool { versions.sharesDials(now: carrier.now) }

  private func countQueued() {
    let count = max(0, waiting.count - room)
    carrier.noteQueued(count - queued)
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
  func enter(_ exchange: CarriedExchange, front: Bool = false) {
    guard exchange.state == .waiting else { return }
    if waiting.count == 0, let connection = pool.connectionWithRoom() { return run(exchange, on: connection) }
    // Beside idle connections wait none but those that want a fresh one.
    if !exchange.wantsFresh, let connection = takeIdle() { return run(exchange, on: connection) }
    wait(exchange, front: front)
    dialForWaiting()
    carrier.noteExpiry(exchange.expiresAt)
  }

  private func wait(_ exchange: CarriedExchange, front: Bool) {
    if front { waiting.prepend(exchange) } else { waiting.append(exchange) }
    if expectsHTTP2, !dials.isEmpty { limitWait(of: exchange) } else { limitWaits() }
  }

  /// Has it wait again, and be served when its host's turn comes.
  func waitAgain(_ exchange: CarriedExchange) {
    wait(exchange, front: true)
    carrier.noteExpiry(exchange.expiresAt)
    carrier.noteService(self)
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

  private func run(_ exchange: CarriedExchange, on connection: HTTP2Connection) {
    let exchange = carrier.overHTTP2(exchange)
    switch exchange.start(on: connection) {
    case .running: carrier.noteExpiry(exchange.expiresAt)
    case .outdated:
      pool.retire(connection)
      waitAgain(exchange)
    case .failed(let error): carrier.end(exchange, error)
    }
  }

  private func run(_ exchange: CarriedExchange, on connection: DirectConnection) {
    let exchange = carrier.overHTTP1(exchange)
    noteRunning(connection, true)
    switch exchange.start(on: connection) {
    case .running:
      carrier.noteExpiry(exchange.expiresAt)
    case .outdated:
      forget(connection)
      restart(exchange)
    case .failed(let error):
      release(connection)
      carrier.end(exchange, error)
    }
  }

  private func restart(_ exchange: CarriedExchange) {
    guard exchange.job.noteRestart() <= Self.mostRestarts else { return carrier.end(exchange, .unsteadyTrust) }
    enter(exchange, front: true)
  }

  /// Has a request wait again of which nothing was sent.
  ///
  /// - Parameter error: why it fails where that was so again and again.
  func restartLater(_ exchange: CarriedExchange, orFail error: TransportError) {
    exchange.rewind()
    guard exchange.job.noteRestart() <= Self.mostRestarts else { return carrier.end(exchange, error) }
    waitAgain(exchange)
  }

  /// One that waits is over: it is passed over when its turn comes. No dial goes on that no request wants; the latest
  /// is the least far.
  func noteGone(_ exchange: CarriedExchange) {
    waiting.noteGone()
    while dials.count > waiting.count, let latest = dials.max() {
      dials.remove(latest)
      carrier.dropDial(latest)
    }
  }

  /// Ends an exchange, answers its job, and gives its connection to the next.
  func conclude(_ exchange: CarriedExchange, _ failure: TransportError?) {
    let wasWaiting = exchange.state == .waiting
    let facts = exchange.facts()
    exchange.state = .over
    if wasWaiting { noteGone(exchange) }
    if !draining.isEmpty { draining.removeAll { $0 === exchange } }
    exchange.leave(failure)
    carrier.answer(exchange, failure, facts: facts)
  }

  /// A job is answered, and only the rest of its answer is read: its connection is given up where another job wants it.
  func noteDrain(_ exchange: DirectExchange) { draining.append(exchange) }

  // MARK: Connections

  /// An exchange has a connection, or has it no more.
  func noteRunning(_ connection: DirectConnection, _ isRunning: Bool) {
    guard connection.isRunning != isRunning else { return }
    connection.isRunning = isRunning
    runningCount += isRunning ? 1 : -1
  }

  var connections: Int { runningCount + idle.count + dials.count + pool.count }

  /// The connection that was used last and is still fit to carry a request.
  private func takeIdle() -> DirectConnection? {
    let carrier = carrier, now = carrier.now
    while let connection = idle.popLast() {
      carrier.noteBusy(connection)
      if connection.isClosed { continue }
      let isUnfit =
        carrier.isTooOld(connection) || now >= connection.fitUntil
        || !connection.profile.trust.isCurrent
        || carrier.withScratch { connection.hasUnsolicitedInput($0, isHeard: connection.isHeard) }
      if !isUnfit { return connection }
      connection.close()
    }
    return nil
  }

  /// A connection is free: the first request that waits has it.
  func release(_ connection: DirectConnection) {
    let carrier = carrier
    noteRunning(connection, false)
    connection.noteFree(now: carrier.now)
    // What came behind the answer is no answer to the next request.
    if !connection.isReadEmpty, waiting.count > 0, carrier.withScratch({ connection.hasUnsolicitedInput($0) }) {
      connection.close()
      return dialForWaiting()
    }
    while isFit(connection), let first = waiting.popFirst(isFresh: connection.exchanges == 0) {
      let next = carrier.overHTTP1(first)
      limitWaits()
      noteRunning(connection, true)
      switch next.start(on: connection) {
      case .running: return carrier.noteExpiry(next.expiresAt)
      case .outdated:
        forget(connection)
        return restart(next)
      case .failed(let error):
        noteRunning(connection, false)
        carrier.end(next, error)
      }
    }
    guard isFit(connection) else {
      connection.close()
      return dialForWaiting()
    }
    connection.watch(read: true, write: false)
    idle.append(connection)
    carrier.noteIdle(connection)
    // Those that wait want a fresh one.
    dialForWaiting()
  }

  private func isFit(_ connection: DirectConnection) -> Bool {
    let carrier = carrier
    return !connection.isClosed && carrier.now < connection.fitUntil && !carrier.isTooOld(connection)
  }

  /// Closes a connection that no exchange uses any more.
  func forget(_ connection: DirectConnection) {
    noteRunning(connection, false)
    connection.close()
  }

  /// Closes a connection that can carry no other exchange.
  func abandon(_ connection: DirectConnection) {
    forget(connection)
    dialForWaiting()
  }

  /// Something came on an idle connection, be it its end.
  func idleConnectionStirred(_ connection: DirectConnection) {
    guard carrier.withScratch({ connection.hasUnsolicitedInput($0) }) else { return }
    removeIdle(connection)
  }

  func removeIdle(_ connection: DirectConnection) {
    guard let index = idle.lastIndex(where: { $0 === connection }) else { return }
    idle.remove(at: index)
    carrier.noteBusy(connection)
    connection.close()
  }

  // MARK: The end

  func tearDown() {
    pool.tearDown()
    waiting = ExchangeQueue()
    for connection in idle { removeIdle(connection) }
    for id in dials { carrier.dropDial(id) }
    dials = []
  }
}
