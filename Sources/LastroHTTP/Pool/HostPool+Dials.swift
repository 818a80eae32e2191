// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The connections that are on their way.
extension HostPool {
  /// Begins as many dials as there are requests that wait for none.
  func dialForWaiting() {
    guard waiting.count > 0 else { return }
    if expectsHTTP2 {
      if dials.isEmpty, mayDial, pool.mayGrow, let exchange = firstUndialed { begin(for: exchange) }
      return
    }
    while dials.count < waiting.count, dials.count < engine.settings.dialsPerHost, let exchange = firstUndialed {
      if !mayDial, exchange.wantsFresh, let oldest = idle.first { removeIdle(oldest) }
      if !mayDial {
        guard let drained = draining.first else { return }
        conclude(drained, .cancelled(requestSent: true))
        continue
      }
      begin(for: exchange)
    }
  }

  var mayDial: Bool { connections < engine.settings.connectionsPerHost }

  /// The first that waits and that no dial was begun for.
  private var firstUndialed: Exchange? {
    waiting.first(behind: dials.count)
  }

  private func begin(for exchange: Exchange) {
    let job = exchange.job
    guard let target = target(of: job) else { return conclude(exchange, .unreadableHost) }
    if route.proxy != nil, let refusal = engine.connector.refusal(of: target, over: route, with: options) {
      return conclude(exchange, refusal)
    }
    let protocols = versions.offer(now: engine.now)
    let request = DialRequest(
      host: target.host.text, port: target.port,
      tls: key.isTLS ? DialRequest.TLS(applicationProtocols: protocols.names) : nil,
      connectTimeout: job.request.connectTimeout)
    let dial = LinkDial(
      id: StreamID.next(), request: request, target: target, protocols: protocols.wire, options: options,
      route: route, deadline: job.request.deadline)
    dials.insert(dial.id)
    dialBeganAt = engine.now
    limitWaits()
    engine.connector.dial(dial, for: self)
  }

  /// Limits the wait of requests that the dials under way will serve to their limit for a connection, whichever of them
  /// a dial was begun for.
  func limitWaits() {
    guard !dials.isEmpty else { return }
    for exchange in waiting.all.prefix(expectsHTTP2 ? .max : dials.count) { limitWait(of: exchange) }
  }

  func limitWait(of exchange: Exchange) {
    guard exchange.dialBeganAt == nil else { return }
    exchange.dialBeganAt = engine.now
    engine.noteExpiry(exchange.expiresAt)
  }

  func dialStands(_ id: UInt64) { engine.noteEvent { [self] in stands(id) } }

  func dialFailed(_ id: UInt64, _ error: TransportError) { engine.noteEvent { [self] in failed(id, error) } }

  private func stands(_ id: UInt64) {
    // Given up in the meantime: the connector has closed it.
    guard dials.remove(id) != nil, let link = engine.connector.takeLink(of: id) else { return }
    let connection = HTTPConnection(link, host: self, now: engine.now)
    let facts = connection.facts
    if versions.learn(facts.applicationProtocol) {
      if let end = facts.earlyEnd { return speaksFirst(connection, end) }
      do throws(TransportError) {
        try pool.add(connection)
      } catch {
        // One of those that wait, so that they do not dial for ever.
        if let first = waiting.popFirst() { engine.end(first, error) }
      }
      return serveWaiting()
    }
    guard facts.early.isEmpty, facts.earlyEnd == nil else {
      return speaksFirst(connection, facts.earlyEnd ?? .spokenFirst)
    }
    connection.session = HTTP1Session(connection)
    noteRunning(connection, true)
    release(connection)
    dialForWaiting()
  }

  /// The server wants HTTP/1.1 for what it was asked.
  func noteHTTP1Required() {
    versions.requireHTTP1(now: engine.now)
    if !expectsHTTP2 { pool.retireAll() }
  }

  /// A server that speaks before it is asked, or that is gone already.
  private func speaksFirst(_ connection: HTTPConnection, _ error: TransportError) {
    connection.close()
    if let first = waiting.popFirst() { engine.end(first, error) }
    dialForWaiting()
  }

  private func failed(_ id: UInt64, _ error: TransportError) {
    guard dials.remove(id) != nil else { return }
    // Each that waits has a limit of its own, and the dial may have been another's.
    if error.code == .connectTimeout {
      let late = waiting.all.filter { $0.dialEndsAt <= engine.now }
      for exchange in expectsHTTP2 ? late : Array(late.prefix(1)) { conclude(exchange, error) }
    } else if expectsHTTP2 {
      failWaiting(error)
    } else if let first = waiting.popFirst() {
      engine.end(first, error)
    }
    dialForWaiting()
  }

  /// A dial failed that all shared who waited then.
  private func failWaiting(_ error: TransportError) {
    for exchange in Array(waiting.all) where exchange.startedAt <= dialBeganAt {
      conclude(exchange, error)
    }
  }
}
