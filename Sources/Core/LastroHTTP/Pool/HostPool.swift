// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// The exchanges and connections of an engine for one host (scheme, name, port) under one set of options.
///
/// A ``HostMachine`` makes the decisions. The pool performs its steps and reports their results to it. Owner:
/// ``HTTPEngine``, which drops the pool when the engine ends. Thread: the loop's.
package final class HostPool {
  /// The maximum number of times that a request is restarted before anything of it was sent, because the trust rules
  /// had changed or its HTTP/2 connection had ended. Rules do not change this often on purpose.
  static let mostRestarts = 16

  let key: HostKey
  let target: TrustTarget
  let engine: HTTPEngine
  let options: SharedOptions
  let route: Route
  /// The memory of the latest response head, which the next one is compared with.
  // Unchecked because only the loop's thread uses it, and converting a head does not call back into the pool.
  @exclusivity(unchecked) var heads = HeadMemory()
  /// Whether `Expect: 100-continue` may be sent before a large body: not once the server has ignored or refused it.
  var mayExpect = true
  // Unchecked because only the loop's thread uses it, and writing a head does not call back into the pool.
  @exclusivity(unchecked) var common: CommonFields

  // Unchecked because only the loop's thread uses it, and the machine does not call back into the pool.
  @exclusivity(unchecked) var machine: HostMachine
  /// The steps to perform, in order.
  // Unchecked for the same reason.
  @exclusivity(unchecked) private var steps: [HostMachine.Step] = []
  private var isPerforming = false
  /// The current dials, the oldest first.
  var dials: [Dial] = []
  /// The error of the dial whose failure is being reported.
  var dialError: TransportError?
  /// The HTTP/2 connections, including those that accept no more requests.
  private var multiplexers: [HTTP2Multiplexer] = []
  /// Whether the engine will report ``HostMachine/Event/serviceDue`` in this turn.
  var isAwaitingService = false

  init(key: HostKey, target: TrustTarget, route: Route, options: SharedOptions, engine: HTTPEngine) {
    self.key = key
    self.target = target
    self.options = options
    self.engine = engine
    self.route = route
    let settings = engine.settings
    common = CommonFields(engine.addedFields)
    let version = settings.usableVersion(options.options.httpVersion, isForwarded: route.proxy != nil)
    machine = HostMachine(
      .init(
        connections: settings.connectionsPerHost, dials: settings.dialsPerHost, streams: settings.http2StreamsPerHost,
        streamsPerConnection: settings.http2StreamsPerConnection, keepsIdle: engine.keepsIdle),
      HostVersions(version, isTLS: key.isTLS))
  }

  var isUnused: Bool { machine.isUnused && multiplexers.isEmpty }
  var isFull: Bool { machine.isFull(now: engine.now) }

  /// Returns the target of a request; `nil` if its authority cannot be read.
  func target(of job: EngineJob) -> TrustTarget? {
    route.proxy == nil ? target : TrustTarget(authority: job.request.head.authority ?? "", defaultPort: 80)
  }

  // MARK: Events and steps

  /// Reports an event to the machine, and performs the steps that follow. When called from within a step, it performs
  /// them after that step.
  func tell(_ event: HostMachine.Event) {
    let queued = machine.queuedCount
    machine.handle(event, now: engine.now, &steps)
    if machine.queuedCount != queued { engine.countQueued(machine.queuedCount - queued) }
    if isPerforming { return }
    isPerforming = true
    var index = 0
    while index < steps.count {
      perform(steps[index])
      index += 1
    }
    steps.removeAll(keepingCapacity: true)
    isPerforming = false
  }

  private func perform(_ step: HostMachine.Step) {
    switch step {
    case .start(let request, let connection, let wasIdle): start(request, connection, wasIdle: wasIdle)
    case .open(let request, let connection): open(request, connection)
    case .dial(let dial, let request): startDial(dial, for: request)
    case .cancelDial(let dial): cancel(dial)
    case .limitWait(let request):
      guard let exchange = engine.exchanges[request] else { break }
      exchange.dialBeganAt = engine.now
      engine.scheduleCheck(of: exchange)
    case .fail(let request):
      if let exchange = engine.exchanges[request] { failDial(of: exchange) }
    case .endDrain(let request):
      if let exchange = engine.exchanges[request] { conclude(exchange, .cancelled(requestSent: true)) }
    case .becameIdle(let connection): engine.connections[connection].map(engine.becameIdle)
    case .becameBusy(let connection): engine.connections[connection].map(engine.becameBusy)
    case .close(let connection): engine.connections[connection]?.closeInOrder()
    case .wantService: engine.context.scheduleService(of: self)
    }
  }

  // MARK: Requests

  /// Passes a request to the machine, which runs or queues it.
  func enter(_ exchange: Exchange, isFront: Bool = false) {
    if let count = exchange.job.wantedConnections {
      if machine.hasOpen(count) { return concludeUnsent(exchange) }
      exchange.wantsFresh = true
    }
    if refuses(exchange) { return conclude(exchange, .unannouncedTunnel) }
    tell(.arrived(exchange.entry, isFront: isFront))
    if exchange.isWaiting { engine.scheduleCheck(of: exchange) }
  }

  /// Returns whether a request is an extended CONNECT that the host is known not to accept. In the queue it would wait
  /// for connections that cannot carry it.
  private func refuses(_ exchange: Exchange) -> Bool {
    guard exchange.job.isTunnel else { return false }
    // A host without connections may have changed, so it is dialed.
    return !machine.isUnused && !machine.expectsHTTP2(now: engine.now) || multiplexers.contains(where: \.refusesTunnels)
  }

  /// Ends the queued requests that the host turns out not to accept.
  func endRefused() {
    for exchange in engine.exchanges.all where exchange.host === self && exchange.isWaiting && refuses(exchange) {
      conclude(exchange, .unannouncedTunnel)
    }
  }

  /// Returns an exchange that is waiting; `nil` if it has ended since the machine decided.
  private func waiting(_ request: UInt64) -> Exchange? {
    engine.exchanges[request].flatMap { $0.isWaiting ? $0 : nil }
  }

  private func start(_ request: UInt64, _ number: UInt64, wasIdle: Bool) {
    let exchange = waiting(request)
    guard let connection = engine.connections[number], let session = connection.session as? HTTP1Session else {
      // The connection was closed after the machine decided.
      tell(.lost(number))
      if let exchange { enter(exchange, isFront: true) }
      return
    }
    guard let exchange else { return release(connection) }
    if exchange.job.wantedConnections != nil {
      // The connection counts as used, so that the next job of this kind does not take it as well.
      connection.beganExchange()
      concludeUnsent(exchange)
      return release(connection)
    }
    if wasIdle, !connection.isFitAfterIdling {
      lose(connection)
      return enter(exchange, isFront: true)
    }
    do throws(TransportError) {
      if try session.start(exchange) { return engine.scheduleCheck(of: exchange) }
      lose(connection)
      restart(exchange, orFail: .unsteadyTrust)
    } catch {
      release(connection)
      conclude(exchange, error)
    }
  }

  private func open(_ request: UInt64, _ number: UInt64) {
    let exchange = waiting(request)
    // If the connection was closed after the machine decided, that was reported already.
    guard let multiplexer = multiplexers.first(where: { $0.connection.number == number }) else {
      if let exchange { waitAgain(exchange) }
      return
    }
    guard let exchange, multiplexer.checkFitness() else {
      tell(.streamClosed(number, multiplexer.room))
      guard let exchange else { return }
      // A server that ends each connection as soon as it is open costs a request, and is not dialed forever.
      guard multiplexer.isNew, let error = multiplexer.refusal else { return enter(exchange, isFront: true) }
      multiplexer.isNew = false
      return conclude(exchange, error)
    }
    if exchange.job.wantedConnections != nil {
      tell(.streamClosed(number, multiplexer.room))
      return concludeUnsent(exchange)
    }
    do throws(TransportError) {
      if try multiplexer.start(exchange) { return engine.scheduleCheck(of: exchange) }
      tell(.streamClosed(number, multiplexer.room))
      tell(.retired(number))
      restart(exchange, orFail: TransportError(HTTP2Unprocessed.unsent))
    } catch {
      tell(.streamClosed(number, multiplexer.room))
      conclude(exchange, error)
    }
  }

  /// Closes the connection of a request of which nothing was sent, and restarts the request on another one.
  func restartElsewhere(_ exchange: Exchange) {
    exchange.connection.map(lose)
    exchange.rewind()
    restart(exchange, orFail: .unsteadyTrust)
  }

  /// Requeues a request of which nothing was sent.
  ///
  /// - Parameter error: the error to fail with after too many restarts.
  func restart(_ exchange: Exchange, orFail error: TransportError) {
    exchange.job.restarts += 1
    guard exchange.job.restarts <= Self.mostRestarts else { return conclude(exchange, error) }
    waitAgain(exchange)
  }

  /// Requeues a request, in front of the others.
  func waitAgain(_ exchange: Exchange) {
    if refuses(exchange) { return conclude(exchange, .unannouncedTunnel) }
    tell(.returned(exchange.entry))
    engine.scheduleCheck(of: exchange)
  }

  /// Ends an exchange, frees its connection, and answers its job.
  ///
  /// The connection may begin its next exchange before this function returns. The answer comes last, because the caller
  /// wakes only at the end of the turn, and its next request then finds the connection free.
  ///
  /// - Parameter stream: the link as a stream, if the response ended HTTP on it. The caller owns it from here on.
  func conclude(_ exchange: Exchange, _ failure: TransportError?, upgraded stream: (any ByteStream)? = nil) {
    let wasWaiting = exchange.isWaiting
    let facts = exchange.facts()
    exchange.markOver()
    if wasWaiting { tell(.left(exchange.number)) }
    switch exchange.rest {
    case .part, .awaited: break
    case .drained: tell(.drainEnded(exchange.number))
    case .open: engine.tunnelWillEnd()
    }
    exchange.leaveConnection(failure)
    engine.answer(exchange, failure, facts: facts, upgraded: stream)
  }

  /// Ends the exchange of a job that only wanted an open connection.
  private func concludeUnsent(_ exchange: Exchange) {
    exchange.receiver.answerWithNothing()
    conclude(exchange, nil)
  }

  /// Serves queued requests after capacity may have become free in this turn.
  func serve() {
    isAwaitingService = false
    tell(.serviceDue)
  }

  // MARK: Connections of HTTP/1.1

  /// Reports a connection as free: it is new, or its last request has ended.
  func release(_ connection: HTTPConnection) {
    connection.becameFree(now: engine.now)
    let isFit = connection.isFit(isWanted: machine.hasWaiting)
    let isFresh = connection.exchanges == 0
    // A new connection that has ended since it was checked costs a request, which fails for the same reason.
    if isFresh, !isFit { dialError = connection.reasonOfEarlyEnd }
    defer { if isFresh { dialError = nil } }
    tell(
      .free(
        connection.number,
        .init(
          isFresh: isFresh, mayServe: isFit && (engine.settings.keepsIdle || isFresh),
          mayIdle: isFit && engine.keepsIdle)))
  }

  /// Closes a connection that was in use, and that cannot carry another request.
  func lose(_ connection: HTTPConnection) {
    connection.close()
    tell(.lost(connection.number))
  }

  /// Closes an idle connection.
  func closeIdle(_ connection: HTTPConnection) { tell(.idleClosed(connection.number)) }

  // MARK: Connections of HTTP/2

  /// Creates and starts the HTTP/2 session of a new connection.
  ///
  /// - Throws: the reason why the connection cannot carry requests.
  func addMultiplexer(over connection: HTTPConnection) throws(TransportError) -> HTTP2Multiplexer {
    let multiplexer: HTTP2Multiplexer
    do throws(HTTP2Violation) {
      multiplexer = try HTTP2Multiplexer(connection, of: self)
    } catch {
      throw TransportError(error)
    }
    connection.session = multiplexer
    multiplexers.append(multiplexer)
    multiplexer.startSession()
    guard let error = multiplexer.refusal else { return multiplexer }
    throw error
  }

  /// Removes an HTTP/2 connection that has ended with all its streams.
  func ended(_ multiplexer: HTTP2Multiplexer) {
    multiplexers.removeAll { $0 === multiplexer }
    tell(.ended(multiplexer.connection.number))
  }

  /// Enforces the time limits of HTTP/2 connections.
  func tick(now: Int64) {
    for multiplexer in multiplexers { multiplexer.tick(now: now) }
  }

  // MARK: The end

  func tearDown() {
    for multiplexer in multiplexers { multiplexer.connection.close() }
    multiplexers = []
    cancelDials()
  }
}
