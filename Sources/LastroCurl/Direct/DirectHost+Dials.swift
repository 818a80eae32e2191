// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The connections that are on their way.
extension DirectHost {
  /// Begins as many dials as there are requests that wait for none.
  func dialForWaiting() {
    guard waiting.count > 0 else { return }
    if expectsHTTP2 {
      if dials.isEmpty, mayDial, pool.mayGrow, let exchange = firstUndialed { begin(for: exchange) }
      return
    }
    while dials.count < waiting.count, dials.count < carrier.settings.lookups, let exchange = firstUndialed {
      if !mayDial, exchange.wantsFresh, let oldest = idle.first { removeIdle(oldest) }
      if !mayDial {
        guard let drained = draining.first else { return }
        conclude(drained, .cancelled(requestSent: true))
        continue
      }
      begin(for: exchange)
    }
  }

  var mayDial: Bool { connections < carrier.settings.connectionsPerHost }

  /// The first that waits and that no dial was begun for.
  private var firstUndialed: CarriedExchange? {
    waiting.first(behind: dials.count)
  }

  private func begin(for exchange: CarriedExchange) {
    let job = exchange.job
    guard let target = target(of: job) else { return conclude(exchange, .unreadableHost) }
    if let refusal = carrier.refusal(of: target, over: self) { return conclude(exchange, refusal) }
    let protocols = versions.offer(now: carrier.now)
    let request = DialRequest(
      host: target.host.text, port: target.port,
      tls: key.isTLS ? DialRequest.TLS(applicationProtocols: protocols.names) : nil,
      connectTimeout: job.request.connectTimeout)
    let dial = StreamDial(
      .carried, request, host: target.host, target: target, protocols: protocols.wire, options: options,
      usesDefaultOptions: usesDefaultOptions, tunnels: forward == nil, loop: nil)
    dials.insert(dial.id)
    dialBeganAt = carrier.now
    limitWaits()
    carrier.dial(dial, for: self)
  }

  /// Those that the dials on their way will serve wait no longer than their limit for a connection, whichever of them
  /// a dial was begun for.
  func limitWaits() {
    guard !dials.isEmpty else { return }
    for exchange in waiting.all.prefix(expectsHTTP2 ? .max : dials.count) { limitWait(of: exchange) }
  }

  func limitWait(of exchange: CarriedExchange) {
    guard exchange.dialBeganAt == nil else { return }
    exchange.dialBeganAt = carrier.now
    carrier.noteExpiry(exchange.expiresAt)
  }

  func take(_ session: StreamSession) { carrier.noteDialed { [self] in stands(session) } }

  func fail(_ id: UInt64, _ error: TransportError) { carrier.noteDialed { [self] in failed(id, error) } }

  private func stands(_ session: StreamSession) {
    // Dropped in the meantime: the hub has closed it.
    guard dials.remove(session.id) != nil else { return }
    let connection = DirectConnection(session, host: self, now: carrier.now)
    profile = session.profile
    carrier.register(connection)
    if versions.learn(session.facts.tls?.applicationProtocol) {
      guard session.readEnd == nil else { return speaksFirst(connection, session.earlyEnd) }
      do throws(TransportError) {
        try pool.add(connection)
      } catch {
        // One of those that wait, so that they do not dial for ever.
        if let first = waiting.popFirst() { carrier.end(first, error) }
      }
      return serveWaiting()
    }
    guard session.held.isEmpty, session.readEnd == nil else { return speaksFirst(connection, session.earlyEnd) }
    noteRunning(connection, true)
    release(connection)
    dialForWaiting()
  }

  /// The server wants HTTP/1.1 for what it was asked.
  func noteHTTP1Required() {
    versions.requireHTTP1(now: carrier.now)
    if !expectsHTTP2 { pool.retireAll() }
  }

  /// A server that speaks before it is asked, or that is gone already.
  private func speaksFirst(_ connection: DirectConnection, _ error: TransportError) {
    connection.close()
    if let first = waiting.popFirst() { carrier.end(first, error) }
    dialForWaiting()
  }

  private func failed(_ id: UInt64, _ error: TransportError) {
    guard dials.remove(id) != nil else { return }
    // Each that waits has a limit of its own, and the dial may have been another's.
    if error.code == .connectTimeout {
      let late = waiting.all.filter { $0.dialEndsAt <= carrier.now }
      for exchange in expectsHTTP2 ? late : Array(late.prefix(1)) { conclude(exchange, error) }
    } else if expectsHTTP2 {
      failWaiting(error)
    } else if let first = waiting.popFirst() {
      carrier.end(first, error)
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
