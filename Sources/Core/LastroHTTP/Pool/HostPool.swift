// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// The exchanges and connections of an engine for one host (scheme, name, port) under one set of options.
///
/// A ``HostMachine`` makes the decisions. The pool performs its steps and reports their results to it. Owner:
/// ``HTTPEngine``, which drops the pool when the engine ends. Thread: the loop's.
final class HostPool: DialOwner {
  /// The maximum number of times that a request is restarted before anything of it was sent, because the trust rules
  /// had changed or its HTTP/2 connection had ended. Rules do not change this often on purpose.
  static let mostRestarts = 16

  /// The pool's number in the engine.
  var number: UInt64 = 0
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
  @exclusivity(unchecked) private(set) var machine: HostMachine
  /// The steps to perform, in order.
  // Unchecked for the same reason.
  @exclusivity(unchecked) private var steps: [HostMachine.Step] = []
  private var isPerforming = false
  /// The number of queued requests that no dial will serve, as last reported to the engine.
  private var queued = 0
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
    common = CommonFields(settings.messages)
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
    machine.handle(event, now: engine.now, &steps)
    countQueued()
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

  private func countQueued() {
    let count = machine.queuedCount
    if count == queued { return }
    engine.noteQueued(count - queued)
    queued = count
  }

  private func perform(_ step: HostMachine.Step) {
    switch step {
    case .start(let request, let connection, let wasIdle): start(request, connection, wasIdle: wasIdle)
    case .open(let request, let connection): open(request, connection)
    case .dial(let dial, let request): begin(dial, for: request)
    case .cancelDial(let dial): cancel(dial)
    case .limitWait(let request):
      guard let exchange = engine.exchanges[request] else { break }
      exchange.dialBeganAt = engine.now
      engine.noteExpiry(of: exchange)
    case .fail(let request):
      if let exchange = engine.exchanges[request] { engine.end(exchange, dialError ?? .goneBeforeSending) }
    case .endDrain(let request):
      if let exchange = engine.exchanges[request] { conclude(exchange, .cancelled(requestSent: true)) }
    case .becameIdle(let connection): engine.connections[connection].map(engine.noteIdle)
    case .becameBusy(let connection): engine.connections[connection].map(engine.noteBusy)
    case .close(let connection): engine.connections[connection]?.end()
    case .wantService: engine.noteService(self)
    }
  }

  // MARK: Requests

  /// Passes a request to the machine, which runs or queues it.
  func enter(_ exchange: Exchange, isFront: Bool = false) {
    tell(.arrived(exchange.entry, isFront: isFront))
    if exchange.state == .waiting { engine.noteExpiry(of: exchange) }
  }

  /// Returns an exchange that is waiting; `nil` if it has ended since the machine decided.
  private func waiting(_ request: UInt64) -> Exchange? {
    engine.exchanges[request].flatMap { $0.state == .waiting ? $0 : nil }
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
    if wasIdle, !connection.isFitAfterIdling {
      lose(connection)
      return enter(exchange, isFront: true)
    }
    switch session.start(exchange) {
    case .running: engine.noteExpiry(of: exchange)
    case .outdated:
      lose(connection)
      restart(exchange, orFail: .unsteadyTrust)
    case .failed(let error):
      release(connection)
      engine.end(exchange, error)
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
      if let exchange { enter(exchange, isFront: true) }
      return
    }
    switch multiplexer.start(exchange) {
    case .running: engine.noteExpiry(of: exchange)
    case .outdated:
      tell(.streamClosed(number, multiplexer.room))
      tell(.retired(number))
      waitAgain(exchange)
    case .failed(let error):
      tell(.streamClosed(number, multiplexer.room))
      engine.end(exchange, error)
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
    guard exchange.job.restarts <= Self.mostRestarts else { return engine.end(exchange, error) }
    waitAgain(exchange)
  }

  /// Requeues a request, in front of the others.
  func waitAgain(_ exchange: Exchange) {
    tell(.returned(exchange.entry))
    engine.noteExpiry(of: exchange)
  }

  /// Answers an exchange with its link as a stream, which the caller owns from here on.
  func handedOver(_ exchange: Exchange, _ stream: any ByteStream) {
    let facts = exchange.facts()
    exchange.noteOver()
    exchange.leaveConnection(nil)
    engine.answer(exchange, nil, facts: facts, upgraded: stream)
  }

  /// Ends an exchange, frees its connection, and answers its job.
  ///
  /// The connection may begin its next exchange before this function returns. The answer comes last, because the caller
  /// wakes only at the end of the turn, and its next request then finds the connection free.
  func conclude(_ exchange: Exchange, _ failure: TransportError?) {
    let wasWaiting = exchange.state == .waiting
    let facts = exchange.facts()
    exchange.noteOver()
    if wasWaiting { tell(.left(exchange.number)) }
    if case .drained = exchange.rest { tell(.drainEnded(exchange.number)) }
    exchange.leaveConnection(failure)
    engine.answer(exchange, failure, facts: facts)
  }

  /// Serves queued requests after capacity may have become free in this turn.
  func serve() {
    isAwaitingService = false
    tell(.serviceDue)
  }

  // MARK: Connections of HTTP/1.1

  /// Reports a connection as free: it is new, or its last request has ended.
  func release(_ connection: HTTPConnection) {
    connection.noteFree(now: engine.now)
    let isFit = connection.isFit(isWanted: machine.hasWaiting)
    let isFresh = connection.exchanges == 0
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

  /// Records the protocol of a new link, and returns whether it is HTTP/2.
  func speaksHTTP2(_ facts: LinkFacts) -> Bool { machine.learn(facts.applicationProtocol) }

  /// Creates and starts the HTTP/2 session of a new connection.
  ///
  /// - Throws: the reason why the connection cannot carry requests. It is closed then.
  func addMultiplexer(over connection: HTTPConnection) throws(TransportError) -> HTTP2Multiplexer {
    let multiplexer: HTTP2Multiplexer
    do throws(HTTP2Violation) {
      multiplexer = try HTTP2Multiplexer(connection, of: self)
    } catch {
      connection.close()
      throw TransportError(error)
    }
    connection.session = multiplexer
    multiplexers.append(multiplexer)
    multiplexer.begin()
    guard multiplexer.session.isClosedToRequests else { return multiplexer }
    let error =
      if case .violation(let violation)? = multiplexer.session.loss { TransportError(violation) } else {
        TransportError(HTTP2Unprocessed.unsent)
      }
    multiplexer.close()
    throw error
  }

  /// Removes an HTTP/2 connection that has ended with all its streams.
  func ended(_ multiplexer: HTTP2Multiplexer) {
    multiplexers.removeAll { $0 === multiplexer }
    tell(.ended(multiplexer.connection.number))
  }

  /// Whether the pool has HTTP/2 connections, which have time limits of their own.
  var hasHTTP2: Bool { !multiplexers.isEmpty }

  func tick(now: Int64) {
    for multiplexer in multiplexers { multiplexer.tick(now: now) }
  }

  // MARK: The end

  /// Stops keeping idle connections.
  func stopKeeping() { machine.stopKeeping() }

  func tearDown() {
    for multiplexer in multiplexers { multiplexer.connection.close() }
    multiplexers = []
    cancelDials()
  }
}
