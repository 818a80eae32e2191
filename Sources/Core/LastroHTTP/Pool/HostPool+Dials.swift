// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// Dials of new connections.
extension HostPool {
  /// A dial that was started.
  struct Dial {
    /// The number of the dial in the machine.
    let number: UInt64
    /// The number of the dial in the connector.
    let id: UInt64
    /// Whether the request that the dial was started for limits the dial's time. The limits of other requests may be
    /// longer, so they wait for another dial if this one is late.
    let isLimited: Bool
    /// The link, from the time it opens until the engine's next turn.
    var link: (any Link)?
  }

  func startDial(_ number: UInt64, for request: UInt64) {
    guard let exchange = engine.exchanges[request] else { return tell(.dropped(dial: number)) }
    let job = exchange.job
    if job.request.tape != nil { engine.isTaped = true }
    guard let target = target(of: job) else { return refuse(exchange, number, .unreadableHost) }
    let request = DialRequest(
      host: target.host.text, port: target.port,
      tls: key.isTLS ? DialRequest.TLS(applicationProtocols: machine.offer(now: engine.now)) : nil,
      connectTimeout: job.request.connectTimeout)
    let dial = LinkDial(
      id: StreamID.next(), request: request, target: target, options: options, route: route,
      member: route.proxy == nil ? key.member : nil, deadline: job.request.deadline)
    let isLimited = dial.request.connectTimeout != nil || dial.deadline != nil
    dials.append(Dial(number: number, id: dial.id, isLimited: isLimited))
    do throws(TransportError) {
      try engine.connector.dial(dial, for: self)
    } catch {
      dials.removeAll { $0.id == dial.id }
      refuse(exchange, number, error)
    }
  }

  private func refuse(_ exchange: Exchange, _ number: UInt64, _ error: TransportError) {
    tell(.dropped(dial: number))
    conclude(exchange, error)
  }

  func cancel(_ number: UInt64) {
    // The machine cancels the latest first.
    guard let index = dials.lastIndex(where: { $0.number == number }) else { return }
    cancel(dials.remove(at: index))
  }

  private func cancel(_ dial: Dial) {
    if let link = dial.link { link.close() } else { engine.connector.cancelDial(dial.id) }
  }

  /// Cancels all dials. No request needs them any more.
  func cancelDials() {
    let cancelled = dials
    dials = []
    for dial in cancelled { cancel(dial) }
  }

  /// Records the link of a dial that succeeded. The connector calls it while it does its own work, so it has an effect
  /// in the next turn only.
  package func linkOpened(_ id: UInt64, _ link: any Link) {
    guard let index = dials.firstIndex(where: { $0.id == id }) else { return link.close() }
    dials[index].link = link
    engine.context.performInNextTurn { [self] in opened(id) }
  }

  /// Records the failure of a dial, in the same way.
  package func dialFailed(_ id: UInt64, _ error: TransportError) {
    engine.context.performInNextTurn { [self] in failed(id, error) }
  }

  private func opened(_ id: UInt64) {
    // If the dial was cancelled in the meantime, its link is closed already.
    guard let index = dials.firstIndex(where: { $0.id == id }), let link = dials[index].link else { return }
    let number = dials.remove(at: index).number
    let connection = HTTPConnection(
      engine.isTaped ? TapedLink(link, openedAt: engine.now) : link, host: self, now: engine.now)
    do throws(TransportError) {
      try startSession(on: connection, dial: number)
    } catch {
      connection.closeInOrder()
      report(error, .wasted(dial: number))
    }
  }

  /// Starts the session of a new connection, unless the server has closed the connection already, or sent bytes before
  /// a request over HTTP/1.1.
  private func startSession(on connection: HTTPConnection, dial: UInt64) throws(TransportError) {
    let facts = connection.facts, expectedHTTP2 = machine.expectsHTTP2(now: engine.now)
    let isHTTP2 = machine.learn(facts.applicationProtocol)
    if let end = facts.earlyEnd { throw end }
    if isHTTP2 {
      let multiplexer = try addMultiplexer(over: connection)
      tell(.openedMultiplexed(dial: dial, connection: connection.number, room: multiplexer.room))
      multiplexer.isNew = false
      return
    }
    guard facts.early.isEmpty else { throw .spokenFirst }
    try connection.checkSilence()
    connection.session = HTTP1Session(connection)
    tell(.opened(dial: dial))
    if expectedHTTP2 { endRefused() }
    release(connection)
  }

  private func failed(_ id: UInt64, _ error: TransportError) {
    guard let index = dials.firstIndex(where: { $0.id == id }) else { return }
    let dial = dials.remove(at: index)
    report(error, .failed(dial: dial.number, isLate: dial.isLimited && error.code == .connectTimeout))
  }

  /// Fails an exchange that waited for a connection, with the error of the latest dial.
  func failDial(of exchange: Exchange) {
    let error = dialError ?? .goneBeforeSending
    if let tape = exchange.job.request.tape {
      exchange.recordBeginning(on: tape)
      tape.note(.dialFailed(error), at: engine.now)
    }
    conclude(exchange, error)
  }

  private func report(_ error: TransportError, _ event: HostMachine.Event) {
    dialError = error
    tell(event)
    dialError = nil
  }
}
