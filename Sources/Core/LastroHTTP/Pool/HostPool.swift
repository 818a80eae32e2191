// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// The exchanges and connections of an engine for one host (scheme, name, port) under one set of options.
///
/// A ``HostMachine`` decides. The pool performs its steps and reports their results to it. Owner: ``HTTPEngine``, which
/// forgets the pool at its own end. Thread: the loop's.
final class HostPool: DialOwner {
  /// The number of times that a request is restarted because its trust rules had changed. Rules do not change so often
  /// on purpose.
  static let mostRestarts = 16

  /// Its number in the engine.
  var number: UInt64 = 0
  let key: HostKey
  let target: TrustTarget
  let engine: HTTPEngine
  let options: SharedOptions
  let route: Route
  /// Its latest answer's head.
  // Unchecked because the loop's thread alone touches it, and making a head calls nothing that comes back here.
  @exclusivity(unchecked) var heads = HeadMemory()
  /// Whether the server may be asked first if it wants a large body: one that did not answer once is not asked again.
  var mayExpect = true
  // Unchecked because the loop's thread alone touches it, and writing a head calls nothing that comes back here.
  @exclusivity(unchecked) var common: CommonFields

  // Unchecked because the loop's thread alone touches it, and the machine calls nothing of ours.
  @exclusivity(unchecked) private(set) var machine: HostMachine
  /// Steps that are to be performed, in their order.
  // Unchecked for the same reason.
  @exclusivity(unchecked) private var steps: [HostMachine.Step] = []
  private var isPerforming = false
  /// The number of waiting requests without a dial, as the engine counts them.
  private var queued = 0
  /// The dials that were begun, the oldest first.
  var dials: [Dial] = []
  /// The error of the dial that is being reported.
  var dialError: TransportError?
  /// The connections of HTTP/2, those included that take no more requests.
  private var multiplexers: [HTTP2Multiplexer] = []
  /// Whether the engine will report ``HostMachine/Event/serviceDue`` in this turn.
  var isAwaitingService = false

  init(key: HostKey, target: TrustTarget, route: Route, options: SharedOptions, engine: HTTPEngine) {
    self.key = key
    self.target = target
    self.options = options
    self.engine = engine
    self.route = route
    let settings = engine.settings, messages = settings.messages
    common = CommonFields(
      userAgent: messages.userAgent, sendsAccept: messages.sendsAccept, decompresses: messages.decompresses)
    // No proxy is known beforehand to speak HTTP/2.
    let mayBeHTTP2 = route.proxy == nil && settings.offersHTTP2
    machine = HostMachine(
      .init(
        connections: settings.connectionsPerHost, dials: settings.dialsPerHost, streams: settings.http2StreamsPerHost,
        streamsPerConnection: settings.http2StreamsPerConnection, keepsIdle: engine.keepsIdle),
      HostVersions(mayBeHTTP2 ? options.options.httpVersion : .http1, isTLS: key.isTLS))
  }

  var isUnused: Bool { machine.isUnused && multiplexers.isEmpty }
  var hasFreeConnection: Bool { machine.hasFreeConnection }
  var isFull: Bool { machine.isFull(now: engine.now) }

  /// Returns the target of a request; `nil` if its authority cannot be read.
  func target(of job: EngineJob) -> TrustTarget? {
    route.proxy == nil ? target : TrustTarget(authority: job.request.head.authority ?? "", defaultPort: 80)
  }

  // MARK: Events and steps

  /// Reports what happened, and performs the steps that follow. Where it is called from within a step, they are
  /// performed after that.
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
      guard let exchange = engine.exchange(request) else { break }
      exchange.dialBeganAt = engine.now
      engine.noteExpiry(of: exchange)
    case .fail(let request):
      if let exchange = engine.exchange(request) { engine.end(exchange, dialError ?? .goneBeforeSending) }
    case .endDrain(let request):
      if let exchange = engine.exchange(request) { conclude(exchange, .cancelled(requestSent: true)) }
    case .becameIdle(let connection): engine.connection(connection).map(engine.noteIdle)
    case .becameBusy(let connection): engine.connection(connection).map(engine.noteBusy)
    case .close(let connection): engine.connection(connection)?.end()
    case .wantService: engine.noteService(self)
    }
  }

  // MARK: Requests

  /// Runs a request, or has it wait.
  func enter(_ exchange: Exchange, isFront: Bool = false) {
    tell(.arrived(exchange.entry, isFront: isFront))
    if exchange.state == .waiting { engine.noteExpiry(of: exchange) }
  }

  /// Returns an exchange that waits, unless it has ended since the machine decided.
  private func waiting(_ request: UInt64) -> Exchange? {
    engine.exchange(request).flatMap { $0.state == .waiting ? $0 : nil }
  }

  private func start(_ request: UInt64, _ number: UInt64, wasIdle: Bool) {
    let exchange = waiting(request)
    guard let connection = engine.connection(number), let session = connection.session as? HTTP1Session else {
      // It closed since the machine decided.
      tell(.lost(number))
      if let exchange { enter(exchange, isFront: true) }
      return
    }
    guard let exchange else { return release(connection) }
    if wasIdle, !session.isFit {
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
    // Where it closed since the machine decided, that was reported.
    guard let multiplexer = multiplexers.first(where: { $0.connection.number == number }) else {
      if let exchange { waitAgain(exchange) }
      return
    }
    guard let exchange, multiplexer.isFit else {
      tell(.notOpened(number, multiplexer.room))
      if let exchange { enter(exchange, isFront: true) }
      return
    }
    switch multiplexer.start(exchange) {
    case .running: engine.noteExpiry(of: exchange)
    case .outdated:
      tell(.notOpened(number, multiplexer.room))
      tell(.retired(number))
      waitAgain(exchange)
    case .failed(let error):
      tell(.notOpened(number, multiplexer.room))
      engine.end(exchange, error)
    }
  }

  /// Has a request begin on another connection, of which nothing was sent on this one.
  func restartElsewhere(_ exchange: Exchange) {
    exchange.connection.map(lose)
    exchange.rewind()
    restart(exchange, orFail: .unsteadyTrust)
  }

  /// Has a request wait again of which nothing was sent.
  ///
  /// - Parameter error: the reason for which it fails where that was so again and again.
  func restart(_ exchange: Exchange, orFail error: TransportError) {
    guard exchange.job.noteRestart() <= Self.mostRestarts else { return engine.end(exchange, error) }
    waitAgain(exchange)
  }

  /// Has a request wait again, in front of the others.
  func waitAgain(_ exchange: Exchange) {
    tell(.returned(exchange.entry))
    engine.noteExpiry(of: exchange)
  }

  /// The link of an exchange is the caller's from here on.
  func handedOver(_ exchange: Exchange, _ stream: any ByteStream) {
    let facts = exchange.facts()
    exchange.noteOver()
    exchange.leaveConnection(nil)
    engine.answer(exchange, nil, facts: facts, upgraded: stream)
  }

  /// Ends an exchange, frees its connection, and answers its job.
  ///
  /// The connection may begin its next exchange before this returns. The answer comes last, because the caller wakes at
  /// the end of the turn only, and what it sends next then finds the connection free.
  func conclude(_ exchange: Exchange, _ failure: TransportError?) {
    let wasWaiting = exchange.state == .waiting
    let facts = exchange.facts()
    exchange.noteOver()
    if wasWaiting { tell(.left(exchange.number)) }
    if case .drained = exchange.rest { tell(.drainEnded(exchange.number)) }
    exchange.leaveConnection(failure)
    engine.answer(exchange, failure, facts: facts)
  }

  /// Serves requests that wait: something came free in this turn.
  func serve() {
    isAwaitingService = false
    tell(.serviceDue)
  }

  // MARK: Connections of HTTP/1.1

  /// Nothing uses a connection any more.
  func release(_ connection: HTTPConnection) {
    let now = engine.now
    connection.noteFree(now: now)
    var isFit = !connection.isClosed && now < connection.fitUntil && !engine.isTooOld(connection)
    // What came behind the answer is no answer to the next request.
    if isFit, !connection.isReadEmpty, machine.hasWaiting, connection.hasUnsolicitedInput(isHeard: false) {
      isFit = false
    }
    let isFresh = connection.exchanges == 0
    tell(
      .free(
        connection.number,
        .init(
          isFresh: isFresh, mayServe: isFit && (engine.settings.keepsIdle || isFresh),
          mayIdle: isFit && engine.keepsIdle)))
  }

  /// Closes a connection that a request had, and that can carry no other.
  func lose(_ connection: HTTPConnection) {
    connection.close()
    tell(.lost(connection.number))
  }

  /// Closes a connection that no request uses.
  func closeIdle(_ connection: HTTPConnection) { tell(.idleClosed(connection.number)) }

  // MARK: Connections of HTTP/2

  /// Learns from a new link, and returns whether it speaks HTTP/2.
  func speaksHTTP2(_ facts: LinkFacts) -> Bool { machine.learn(facts.applicationProtocol) }

  /// - Throws: the reason why the server is asked for nothing.
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

  /// A connection of HTTP/2 is over, and its streams with it.
  func ended(_ multiplexer: HTTP2Multiplexer) {
    multiplexers.removeAll { $0 === multiplexer }
    tell(.ended(multiplexer.connection.number))
  }

  /// Whether it has connections of HTTP/2, which have limits in time of their own.
  var hasHTTP2: Bool { !multiplexers.isEmpty }

  func tick(now: Int64) {
    for multiplexer in multiplexers { multiplexer.tick(now: now) }
  }

  // MARK: The end

  /// Keeps no connection from here on that no request uses.
  func stopKeeping() { machine.stopKeeping() }

  func tearDown() {
    for multiplexer in multiplexers { multiplexer.connection.close() }
    multiplexers = []
    cancelDials()
  }
}
