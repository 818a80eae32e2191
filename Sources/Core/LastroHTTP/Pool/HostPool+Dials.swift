// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Dials of new connections.
extension HostPool {
  /// A dial that was started.
  struct Dial {
    /// The number of the dial in the machine.
    let number: UInt64
    /// The number of the dial in the connector.
    let id: UInt64
    /// The link, from the time it opens until the engine's next turn.
    var link: (any Link)?
  }

  func begin(_ number: UInt64, for request: UInt64) {
    guard let exchange = engine.exchanges[request] else { return tell(.dropped(dial: number)) }
    let job = exchange.job
    guard let target = target(of: job) else { return refuse(exchange, number, .unreadableHost) }
    let protocols = machine.offer(now: engine.now)
    let request = DialRequest(
      host: target.host.text, port: target.port,
      tls: key.isTLS ? DialRequest.TLS(applicationProtocols: protocols.names) : nil,
      connectTimeout: job.request.connectTimeout)
    let dial = LinkDial(
      id: StreamID.next(), request: request, target: target, protocols: protocols.wire, options: options,
      route: route, deadline: job.request.deadline)
    dials.append(Dial(number: number, id: dial.id))
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
    guard let index = dials.firstIndex(where: { $0.number == number }) else { return }
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

  func linkOpened(_ id: UInt64, _ link: any Link) {
    guard let index = dials.firstIndex(where: { $0.id == id }) else { return link.close() }
    dials[index].link = link
    engine.noteEvent { [self] in opened(id) }
  }

  func dialFailed(_ id: UInt64, _ error: TransportError) { engine.noteEvent { [self] in failed(id, error) } }

  private func opened(_ id: UInt64) {
    // If the dial was cancelled in the meantime, its link is closed already.
    guard let index = dials.firstIndex(where: { $0.id == id }), let link = dials[index].link else { return }
    let number = dials.remove(at: index).number
    let connection = HTTPConnection(link, host: self, now: engine.now)
    let facts = connection.facts
    if speaksHTTP2(facts) {
      if let end = facts.earlyEnd { return speaksFirst(connection, number, end) }
      do throws(TransportError) {
        let multiplexer = try addMultiplexer(over: connection)
        tell(.openedMultiplexed(dial: number, connection: connection.number, room: multiplexer.room))
      } catch {
        report(error) { tell(.wasted(dial: number)) }
      }
      return
    }
    guard facts.early.isEmpty, facts.earlyEnd == nil else {
      return speaksFirst(connection, number, facts.earlyEnd ?? .spokenFirst)
    }
    connection.session = HTTP1Session(connection)
    tell(.opened(dial: number))
    release(connection)
  }

  /// Closes the connection to a server that sent bytes before any request, or that has closed the connection already,
  /// and reports its dial as wasted.
  private func speaksFirst(_ connection: HTTPConnection, _ number: UInt64, _ error: TransportError) {
    connection.close()
    report(error) { tell(.wasted(dial: number)) }
  }

  private func failed(_ id: UInt64, _ error: TransportError) {
    guard let index = dials.firstIndex(where: { $0.id == id }) else { return }
    let number = dials.remove(at: index).number
    report(error) { tell(.failed(dial: number, isLate: error.code == .connectTimeout)) }
  }

  private func report(_ error: TransportError, _ body: () -> Void) {
    dialError = error
    body()
    dialError = nil
  }
}
