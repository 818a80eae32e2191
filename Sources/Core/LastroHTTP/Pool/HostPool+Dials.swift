// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The connections that are on their way.
extension HostPool {
  func begin(_ number: UInt64, for request: UInt64) {
    guard let exchange = engine.exchange(request) else { return tell(.dropped(dial: number)) }
    let job = exchange.job
    guard let target = target(of: job) else { return refuse(exchange, number, .unreadableHost) }
    if route.proxy != nil, let refusal = engine.connector.refusal(of: target, over: route, with: options) {
      return refuse(exchange, number, refusal)
    }
    let protocols = machine.offer(now: engine.now)
    let request = DialRequest(
      host: target.host.text, port: target.port,
      tls: key.isTLS ? DialRequest.TLS(applicationProtocols: protocols.names) : nil,
      connectTimeout: job.request.connectTimeout)
    let dial = LinkDial(
      id: StreamID.next(), request: request, target: target, protocols: protocols.wire, options: options,
      route: route, deadline: job.request.deadline)
    dials[dial.id] = number
    engine.connector.dial(dial, for: self)
  }

  private func refuse(_ exchange: Exchange, _ number: UInt64, _ error: TransportError) {
    tell(.dropped(dial: number))
    conclude(exchange, error)
  }

  func cancel(_ number: UInt64) {
    guard let id = dials.first(where: { $0.value == number })?.key else { return }
    dials[id] = nil
    engine.connector.cancelDial(id)
  }

  func dialStands(_ id: UInt64) { engine.noteEvent { [self] in stands(id) } }

  func dialFailed(_ id: UInt64, _ error: TransportError) { engine.noteEvent { [self] in failed(id, error) } }

  private func stands(_ id: UInt64) {
    // Given up in the meantime: the connector has closed it.
    guard let number = dials.removeValue(forKey: id), let link = engine.connector.takeLink(of: id) else { return }
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

  /// A server that speaks before it is asked, or that is gone already.
  private func speaksFirst(_ connection: HTTPConnection, _ number: UInt64, _ error: TransportError) {
    connection.close()
    report(error) { tell(.wasted(dial: number)) }
  }

  private func failed(_ id: UInt64, _ error: TransportError) {
    guard let number = dials.removeValue(forKey: id) else { return }
    report(error) { tell(.failed(dial: number, isLate: error.code == .connectTimeout)) }
  }

  private func report(_ error: TransportError, _ body: () -> Void) {
    dialError = error
    body()
    dialError = nil
  }
}
